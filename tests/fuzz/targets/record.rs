//! A stored record: no sense, or a change that is written and read from what was written as the same change.

use ringway_state::forge;

pub fn check(input: &[u8]) {
    let Some(change) = forge::decode(input) else { return };
    let mut octets = Vec::new();
    forge::encode(&change, &mut octets);
    assert_eq!(forge::decode(&octets).as_ref(), Some(&change));
    let mut again = Vec::new();
    forge::encode(&change, &mut again);
    assert_eq!(octets, again);
}
