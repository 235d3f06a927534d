use std::collections::HashMap;

use super::*;

const SHORT: Patience = Patience { first: Duration::from_millis(300), later: Duration::from_millis(300) };

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// A place in memory that fails as it is told to.
#[derive(Default)]
struct Memory {
    entries: Mutex<HashMap<String, Vec<u8>>>,
    asked: Mutex<usize>,
    reading: Option<&'static str>,
    writing: Option<&'static str>,
    delay: Duration,
}

impl Place for Memory {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        *self.asked.lock().unwrap() += 1;
        std::thread::sleep(self.delay);
        self.reading.map_or_else(|| Ok(self.entries.lock().unwrap().get(name).cloned()), |why| Err(why.to_string()))
    }

    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), String> {
        std::thread::sleep(self.delay);
        if let Some(why) = self.writing {
            return Err(why.to_string());
        }
        self.entries.lock().unwrap().insert(name.to_string(), bytes);
        Ok(())
    }
}

fn remote(place: Memory) -> (Arc<Memory>, Arc<Remote>) {
    let place = Arc::new(place);
    let shared: Arc<dyn Place> = place.clone();
    (place, Arc::new(Remote::new(shared, "memory", SHORT)))
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("entry");
    fs_err::write(&path, "content").unwrap();
    (folder, path)
}

#[test]
fn what_is_sent_is_there() {
    let (_folder, path) = file();
    let (_, remote) = remote(Memory::default());
    assert_eq!(remote.get("a"), None);
    remote.send("a".to_string(), path.clone());
    remote.send("gone".to_string(), path.with_file_name("gone"));
    assert_eq!(remote.settle(LONG), None);
    assert_eq!(remote.get("a").as_deref(), Some(b"content".as_slice()));
    assert_eq!(remote.get("gone"), None);
}

#[test]
fn a_place_that_fails_is_asked_once() {
    let (place, remote) = remote(Memory { reading: Some("gone"), ..Memory::default() });
    assert_eq!((remote.get("a"), remote.get("b")), (None, None));
    assert_eq!(*place.asked.lock().unwrap(), 1);
    let (_folder, path) = file();
    remote.send("a".to_string(), path);
    assert_eq!(remote.settle(LONG).as_deref(), Some("remote cache `memory` not used any further: gone"));
    assert!(place.entries.lock().unwrap().is_empty());
}

#[test]
fn a_place_that_hangs_holds_nobody_up() {
    let (place, remote) = remote(Memory { delay: LONG, ..Memory::default() });
    let start = Instant::now();
    assert_eq!((remote.get("a"), remote.get("b")), (None, None));
    assert_eq!(*place.asked.lock().unwrap(), 1);
    assert!(remote.settle(LONG).unwrap().ends_with("no answer within 0 s"));
    let (_folder, path) = file();
    let (_, remote) = self::remote(Memory { delay: LONG, ..Memory::default() });
    remote.send("a".to_string(), path);
    let note = remote.settle(Duration::from_millis(100)).unwrap();
    assert_eq!(note, "remote cache `memory` is slow: 1 results were not sent");
    assert!(start.elapsed() < LONG / 2);
}

#[test]
fn a_place_that_takes_nothing_is_still_read() {
    let (_folder, path) = file();
    let place = Memory { writing: Some("read-only"), ..Memory::default() };
    place.entries.lock().unwrap().insert("known".to_string(), vec![1]);
    let (_, remote) = remote(place);
    remote.send("a".to_string(), path);
    assert_eq!(remote.settle(LONG).as_deref(), Some("nothing more was written to remote cache `memory`: read-only"));
    assert_eq!(remote.get("known"), Some(vec![1]));
}

#[test]
fn a_folder_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("shared");
    let open = || Remote::open(&format!("file://{}", shared.display()), true).unwrap();
    assert_eq!(open().get("ab/cd"), None);
    let remote = open();
    let (_entry, path) = file();
    remote.send("ab/cd".to_string(), path.clone());
    assert!(remote.settle(LONG).unwrap().ends_with("is no folder"));
    assert!(!shared.exists());
    fs_err::create_dir(&shared).unwrap();
    let remote = open();
    assert_eq!(remote.get("ab/cd"), None);
    remote.send("ab/cd".to_string(), path);
    assert_eq!(remote.settle(LONG), None);
    assert_eq!(open().get("ab/cd").as_deref(), Some(b"content".as_slice()));
    // A folder in an entry's place is no entry, and no reason to give up.
    fs_err::create_dir_all(shared.join("ab/ef")).unwrap();
    assert_eq!(remote.get("ab/ef"), None);
    assert_eq!(remote.settle(LONG), None);
}

#[test]
fn services_are_on_the_network() {
    assert!(Remote::open("s3://bucket", true).is_err_and(|why| why.contains("--offline")));
    let opened = Remote::open("redis://127.0.0.1:1", false);
    assert_eq!(opened.is_ok(), cfg!(feature = "remote-cache"));
}
