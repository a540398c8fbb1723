//! How the corpus writes octets and what is done between them.
//!
//! A character is an octet, U+0000 to U+00FF; guillemets hold what is not octets:
//!
//! | | |
//! |---|---|
//! | `«9000*a»` | `a`, 9,000 times |
//! | `«smuggled»` | a whole request of 40 octets that must never become one |
//! | `«await»` | the client reads one response before it goes on |
//! | `«pause»` | nothing for a moment, so that what follows comes in a segment of its own |
//! | `«fin»`, `«reset»` | the side that sends ends the connection |
//! | `«head»`, as an origin's first | it goes on as soon as it has the request's head |
//! | `«body»` | the origin reads the request to its end |

/// Never a request: it is part of a body, or stands behind what ends the connection.
pub const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Octets(Vec<u8>),
    Await,
    Pause,
    Fin,
    Reset,
    Head,
    Body,
}

/// # Errors
/// What is wrong with the text.
pub fn script(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some((plain, behind)) = rest.split_once('«') {
        add(&mut steps, plain)?;
        let (word, behind) = behind.split_once('»').ok_or("« without »")?;
        rest = behind;
        match word {
            "await" => steps.push(Step::Await),
            "pause" => steps.push(Step::Pause),
            "fin" => steps.push(Step::Fin),
            "reset" => steps.push(Step::Reset),
            "head" => steps.push(Step::Head),
            "body" => steps.push(Step::Body),
            "smuggled" => add(&mut steps, SMUGGLED)?,
            _ => {
                let (count, part) = word.split_once('*').ok_or(format!("no such word: «{word}»"))?;
                add(&mut steps, &part.repeat(count.parse().map_err(|_| format!("«{word}»"))?))?;
            }
        }
    }
    add(&mut steps, rest)?;
    Ok(steps)
}

/// Octets alone, as a text of one character each.
///
/// # Errors
/// What is wrong with the text, or that something is done in it.
pub fn plain(text: &str) -> Result<String, String> {
    match &script(text)?[..] {
        [] => Ok(String::new()),
        [Step::Octets(octets)] => Ok(latin1(octets)),
        steps => Err(format!("octets alone can stand here: {steps:?}")),
    }
}

/// Octets as characters of the same number, so that any of them can be shown and compared.
pub fn latin1(octets: &[u8]) -> String {
    octets.iter().map(|&octet| char::from(octet)).collect()
}

fn add(steps: &mut Vec<Step>, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let octets = text.chars().map(|c| u8::try_from(c).map_err(|_| format!("{c:?} is no octet")));
    let octets: Vec<u8> = octets.collect::<Result<_, _>>()?;
    match steps.last_mut() {
        Some(Step::Octets(before)) => before.extend(octets),
        _ => steps.push(Step::Octets(octets)),
    }
    Ok(())
}

#[test]
fn scripts_are_read() {
    let octets = |text: &str| Step::Octets(text.bytes().collect());
    assert_eq!(script("a«3*bc»d"), Ok(vec![octets("abcbcbcd")]));
    assert_eq!(
        script("a«await»«pause»é"),
        Ok(vec![octets("a"), Step::Await, Step::Pause, Step::Octets(vec![0xe9])])
    );
    assert_eq!(script("«smuggled»").unwrap(), [octets(SMUGGLED)]);
    assert_eq!(SMUGGLED.len(), 40, "lengths in the corpus count on it");
    assert!(script("«wait»").is_err() && script("«").is_err() && script("→").is_err());
}
