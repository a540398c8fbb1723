//! A file of the table, forged so that its checksums hold: refused, or read to its end without panic, and if it verifies,
//! every value is found by its key.
//!
//! Input: an octet that picks the file and what is done to it, then edits, three octets each: where, as far as the
//! file is, and what stands there then.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use ringway_state::change::{self, Meaning};
use ringway_state::id::Region;
use ringway_state::record::{Change, Key};
use ringway_state::snapshot::{self, BuildOptions, Snapshot};
use ringway_state::{HostHit, Table, View, forge};

/// What the files are made of: all kinds, removed and live, with and without what they lead to.
const CHANGES: &str = r#"{"kind":"service","service":"svc_a","version":[1,1],"owner":"usr_1","home_region":"r0","regions":{"r0":90,"r1":10},"policy":"p"}
{"kind":"endpoint_set","service":"svc_a","region":"r0","version":[1,300],"endpoints":[{"ip":"10.0.0.1","port":80,"state":"healthy"},{"ip":"::1","port":443,"state":"draining"}]}
{"kind":"endpoint_set","service":"svc_a","region":"r1","version":[1,2],"removed":true}
{"kind":"endpoint_set","service":"svc_b","region":"r0","version":[1,2],"endpoints":[]}
{"kind":"service","service":"svc_c","version":[1,1],"removed":true}
{"kind":"domain_map","hostname":"a.test","service":"svc_a","version":[1,7],"class":"custom"}
{"kind":"domain_map","hostname":"long-name-of-more-octets.apps.test","service":"svc_a","version":[1,7],"class":"platform"}
{"kind":"domain_map","hostname":"*.apps.test","service":"svc_b","version":[1,7],"class":"platform"}
{"kind":"domain_map","hostname":"unbound.test","service":"svc_none","version":[1,7],"class":"custom"}
{"kind":"domain_map","hostname":"b.test","version":[1,7],"removed":true}
{"kind":"tombstone","hostname":"c.test","version":[1,8],"reason":"transfer"}
{"kind":"cert_rotated","hostname":"a.test","version":[1,2],"serial":"05"}
{"kind":"policy","policy":"p","version":[1,1],"rules":[1,-2,0.5,null,true,{}]}
{"kind":"policy","policy":"q","version":[1,1],"removed":true}"#;

struct Files {
    base: Vec<u8>,
    level: Vec<u8>,
    keys: Vec<Key>,
    folder: PathBuf,
}

/// One input at a time: they share a file's name.
static FILES: LazyLock<Mutex<Files>> = LazyLock::new(|| {
    let folder = ["/dev/shm", "/tmp"].map(PathBuf::from).into_iter().find(|folder| folder.is_dir());
    let folder = folder.expect("a folder").join(format!("ringway-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder of its own");
    let changes: Vec<Change> = CHANGES.lines().map(read).collect();
    let (path, options) = (folder.join("made"), BuildOptions { seed: Some(7), offsets: vec![3, 5] });
    snapshot::build(changes.clone(), &path, &options, &mut |_| ()).expect("a base");
    let base = fs::read(&path).expect("the base");
    // The level's seed is the base's, so that equal inputs are equal files.
    let under = folder.join("under");
    snapshot::build([], &under, &options, &mut |_| ()).expect("an empty base");
    let mut table = Table::with_base(Arc::new(Snapshot::open(&under).expect("a base")), &region("r0"));
    changes.iter().cloned().for_each(|change| {
        table.apply(change);
    });
    let work = table.flush(vec![7]).expect("a flush");
    work.build(&path, &mut |_| ()).expect("a level");
    let level = fs::read(&path).expect("the level");
    let keys = changes.iter().map(|change| change.record.key()).collect();
    Mutex::new(Files { base, level, keys, folder })
});

fn read(line: &str) -> Change {
    match change::parse(line.as_bytes()).expect("a change").meaning {
        Meaning::Change(change) => change,
        other => panic!("{other:?}"),
    }
}

fn region(name: &str) -> Region {
    Region::parse(name).expect("a region")
}

pub fn check(input: &[u8]) {
    let Some((&what, edits)) = input.split_first() else { return };
    // A promise that was broken before says nothing of this input.
    let files = FILES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut octets = if what & 1 == 0 { files.base.clone() } else { files.level.clone() };
    let (edits, _) = edits.as_chunks::<3>();
    for &[low, high, value] in edits {
        let at = usize::from(u16::from_le_bytes([low, high])) % octets.len();
        octets[at] = value;
    }
    if what & 2 != 0 {
        octets.truncate(usize::from(what) * octets.len() / 256);
    }
    if what & 4 == 0 {
        forge::reseal(&mut octets);
    }
    let path = files.folder.join("asked");
    // A file that is mapped may not be written to: each input has one of its own.
    let _ = fs::remove_file(&path);
    fs::write(&path, &octets).expect("a file");
    ask(&path, &files.keys, octets.len());
}

fn ask(path: &Path, keys: &[Key], octets: usize) {
    let is_whole = snapshot::verify(path).is_ok();
    let Ok(file) = Snapshot::open_any(path) else {
        assert!(!is_whole, "what verifies is opened");
        return;
    };
    assert!(snapshot::inspect(path).is_ok(), "what is opened has a header");
    let mut values = 0;
    for change in file.changes() {
        values += 1;
        assert!(values <= octets, "a value has an octet");
        let Ok(change) = change else {
            assert!(!is_whole, "what verifies makes sense");
            continue;
        };
        let found = file.change(&change.record.key());
        assert!(!is_whole || found == Some(change), "what verifies is found");
    }
    let file = Arc::new(file);
    let over_it = Table::with_base(Arc::clone(&file), &region("r1")).publish();
    ask_view(&over_it, keys);
    if let Ok(table) = Table::with_layers(None, vec![file], &region("r1")) {
        ask_view(&table.publish(), keys);
    }
}

/// Only that it answers, and with what was asked for.
fn ask_view(view: &View, keys: &[Key]) {
    for key in keys {
        assert!(view.stored(key).is_none_or(|stored| stored.change.record.key() == *key));
        match key {
            Key::Host(name) => ask_host(view, name.as_str()),
            Key::Document(document) => {
                assert!(view.document(document).is_none_or(|found| found.text.len() < 1 << 20))
            }
            Key::Service(_) | Key::Endpoints(..) => {}
        }
    }
    ask_host(view, "x.apps.test");
}

fn ask_host(view: &View, name: &str) {
    let Some(HostHit::Service(service)) = view.host(name.as_bytes()) else { return };
    for region in [view.local().clone(), view.region(&region("r0"))] {
        let endpoints = service.endpoints(&region);
        assert!(endpoints.iter().count() <= endpoints.len());
    }
    let _ = service.is_known();
}
