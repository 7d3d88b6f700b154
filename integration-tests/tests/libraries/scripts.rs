//! What scripts keep of objects has an end.

use crate::{SERIES, options::both, site::rendered_for};
use integration_tests::program;
use std::{fs, process::Command};

/// Behind the script: what is kept beyond the bound takes the place of everything before.
const TRIED: &str = "
local memory = memory_of(10)
memory.keep('a', 1, 4)
memory.keep('b', 2, 6)
assert(memory.find('a') == 1 and memory.find('b') == 2, 'what fits is kept')
memory.keep('c', 3, 1)
assert(memory.find('a') == nil and memory.find('b') == nil and memory.find('c') == 3, 'it has no end')
memory.keep('d', 4, 9)
assert(memory.find('c') == 3 and memory.find('d') == 4, 'what was forgotten counts still')
";

#[test]
fn what_is_beyond_the_bound_is_forgotten() {
    for series in SERIES {
        let (bundle, _) = rendered_for(series, &both(&[("max-body-size", "1k")])).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let script = bundle.files["general/haptic.lua"].text.to_string() + TRIED;
        fs::write(folder.path().join("script.lua"), script).unwrap();
        let config = folder.path().join("haproxy.cfg");
        fs::write(&config, "global\n    lua-load script.lua\n").unwrap();
        let mut haproxy = Command::new(program::haproxy(series).unwrap());
        let checked = haproxy.arg("-c").arg("-f").arg(&config).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(!said.contains("runtime error") && !said.contains("[ALERT]"), "{series:?}: {said}");
    }
}
