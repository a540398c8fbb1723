//! A path: refused, or brought into a form that stays as it is and hides no way up.

use crate::proto::path::NormalPath;

pub fn check(input: &[u8]) {
    let path = [b"/", input].concat();
    let mut normal = NormalPath::default();
    normal.read(&path);
    if normal.error().is_some() {
        assert!(!normal.is_normal(&path));
        return;
    }
    let matched = normal.matched(&path).to_vec();
    assert!(matched.starts_with(b"/") && !matched.windows(2).any(|two| two == b"//"));
    assert!(!matched.iter().any(|octet| matches!(octet, b';' | b'\\')));
    let resolved = normal.resolved().map_or_else(|| path.clone(), <[u8]>::to_vec);
    for form in [&matched, &resolved] {
        assert!(form.split(|&octet| octet == b'/').all(|segment| !matches!(segment, b"." | b"..")));
        normal.read(form);
        assert_eq!((normal.error(), normal.matched(form), normal.resolved()), (None, &matched[..], None));
    }
    normal.read(&matched);
    assert!(normal.is_normal(&matched));
}
