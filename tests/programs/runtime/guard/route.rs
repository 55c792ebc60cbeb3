//! The search path through which the loader finds a library.

use super::program::{run, version};
use crate::support::cache_of;
use crate::support::installation::{Folder, compile, sound};
use cudnn_guard::internals::binary::elf::Elf;
use cudnn_guard::internals::binary::ld_so_cache;
use cudnn_guard::internals::install::sub_library_lookup::SubLibraryLookup;
use cudnn_guard::internals::loader::system::System;
use cudnn_guard::internals::loader::{LoadOrigin, SearchPath};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

#[test]
fn the_origin_of_a_library_is_reported() {
    let text = |list: &str| Some(OsString::from(list));
    let all: Vec<PathBuf> = ["/r", "/l", "/both", "/u", "/both", "/lib"]
        .iter()
        .map(PathBuf::from)
        .collect();
    let via = |route: &SearchPath, file: &str| route.origin_of(Path::new(file));
    let route = SearchPath::new(&all, text("/r"), None, None);
    assert_eq!(via(&route, "/r/x.so"), LoadOrigin::Rpath("/r".into(), None));
    let route = SearchPath::new(&all, None, text("/l/:/both"), text("/u:/both"));
    assert_eq!(via(&route, "/l/x.so"), LoadOrigin::LibraryPath("/l".into()));
    assert_eq!(
        via(&route, "/both/x.so"),
        LoadOrigin::LibraryPath("/both".into())
    );
    assert_eq!(
        via(&route, "/u/x.so"),
        LoadOrigin::Runpath("/u".into(), None)
    );
    assert_eq!(via(&route, "/lib/x.so"), LoadOrigin::System("/lib".into()));
    assert_eq!(
        via(&route, "/l/glibc-hwcaps/x86-64-v3/x.so"),
        LoadOrigin::LibraryPath("/l".into())
    );
    assert_eq!(via(&route, "/elsewhere/x.so"), LoadOrigin::Elsewhere);
    // A relative entry matches a file even after the program has changed its directory. The empty entry matches
    // nothing.
    let relative: Vec<PathBuf> = vec!["rel/lib".into(), ".".into()];
    let route = SearchPath::new(&relative, None, text("rel/lib:"), None);
    assert_eq!(
        via(&route, "/then/rel/lib/x.so"),
        LoadOrigin::LibraryPath("rel/lib".into())
    );
    assert_eq!(via(&route, "/then/x.so"), LoadOrigin::Elsewhere);
    // The loader expands its tokens, and does not require UTF-8.
    let here = std::env::current_exe().unwrap();
    let here = here.parent().unwrap();
    let odd = OsString::from_vec(b"/caf\xe9".to_vec());
    let folders = [here.join("../l"), "/t/lib64".into(), odd.clone().into()];
    let mut list = OsString::from("$ORIGIN/../l:/t/${LIB};");
    list.push(&odd);
    let route = SearchPath::new(&folders, None, Some(list), None);
    for folder in folders {
        let file = folder.join("x.so");
        assert_eq!(route.origin_of(&file), LoadOrigin::LibraryPath(folder));
    }
    // A RUNPATH disables the RPATH of the same file, so the directory is in the list for another reason.
    let route = SearchPath::new(&all, text("/r"), None, text("/u"));
    assert_eq!(via(&route, "/r/x.so"), LoadOrigin::System("/r".into()));
    // Without the variable, the same directories belong to the loader itself.
    let route = SearchPath::new(&all, None, None, None);
    assert_eq!(via(&route, "/l/x.so"), LoadOrigin::System("/l".into()));
}

/// The loader drops a directory that is repeated in a list, so a repeated one is from the next list.
#[test]
fn a_directory_of_two_lists_is_searched_for_sub_libraries_too() {
    let [first, second] = [Folder::new(), Folder::new()];
    for folder in [&first, &second] {
        std::fs::write(folder.file("libpart-of-a-test.so"), "").unwrap();
    }
    let (own, other) = (first.text(), second.text());
    let of_library = |path: &SearchPath| {
        let places = path.with_own(Vec::new(), false);
        places.program_file("libpart-of-a-test.so").unwrap()
    };
    let text = |list: &str| Some(OsString::from(list));
    let searched = [own, own, other].map(PathBuf::from);
    for list in [own.to_string(), format!("{own}/:{own}")] {
        let path = SearchPath::new(
            &searched,
            text(&list),
            text(&format!("{list}:{other}")),
            None,
        );
        assert_eq!(
            path.directories[0].origin,
            LoadOrigin::Rpath(own.into(), None)
        );
        assert_eq!(
            of_library(&path),
            first.file("libpart-of-a-test.so"),
            "{list}"
        );
    }
    // The order of the second list decides.
    let searched = [own, other, other, own].map(PathBuf::from);
    let (rpath, library_path) = (format!("{own}:{other}"), format!("{other}:{own}"));
    let path = SearchPath::new(&searched, text(&rpath), text(&library_path), None);
    assert_eq!(of_library(&path), second.file("libpart-of-a-test.so"));
    // The loader compares the text, and `.` and an empty entry are equal.
    let doubled = own.replacen('/', "//", 1);
    let searched = [&*doubled, own, ".", own, other].map(PathBuf::from);
    let rpath = format!("{doubled}:{own}:./:");
    let path = SearchPath::new(
        &searched,
        text(&rpath),
        text(&format!("{own}:{other}")),
        None,
    );
    let origins = path.directories.iter().map(|place| place.origin.clone());
    let origins: Vec<LoadOrigin> = origins.collect();
    let rpath = [&*doubled, own, "."].map(|dir| LoadOrigin::Rpath(dir.into(), None));
    let library_path = [own, other].map(|dir| LoadOrigin::LibraryPath(dir.into()));
    assert_eq!(origins, [&rpath[..], &library_path].concat());
    // A library without a RUNPATH searches the program's RPATH too, and never its own directory.
    let main_library = second.file("libmain.so");
    compile("int nothing;", &main_library, &[]);
    let rpath = SearchPath::new(&[own.into()], text(own), None, None);
    let lookup = SubLibraryLookup::new(&main_library, 9, &rpath);
    let found = lookup.search("libpart-of-a-test.so");
    assert_eq!(found, Some(first.file("libpart-of-a-test.so")));
    let none = SearchPath::new(&[], None, None, None);
    let lookup = SubLibraryLookup::new(&main_library, 9, &none);
    assert_eq!(lookup.search("libpart-of-a-test.so"), None);
}

#[test]
fn a_library_with_a_runpath_has_another_search_path_than_its_program() {
    let [rpath, library_path, own] = [Folder::new(), Folder::new(), Folder::new()];
    for folder in [&rpath, &library_path, &own] {
        std::fs::write(folder.file("libpart-of-a-test.so"), "").unwrap();
    }
    let folders = [rpath.0.clone(), library_path.0.clone()];
    let text = |folder: &Folder| Some(OsString::from(folder.text()));
    let route = SearchPath::new(&folders, text(&rpath), text(&library_path), None);
    let file = |own_first| {
        let origin = LoadOrigin::Runpath(own.0.clone(), Some(String::new()));
        let places = route.with_own(vec![origin.into()], own_first);
        let file = places.program_file("libpart-of-a-test.so");
        file.unwrap().parent().unwrap().to_path_buf()
    };
    assert_eq!(file(true), own.0);
    assert_eq!(file(false), library_path.0);
    std::fs::remove_file(own.file("libpart-of-a-test.so")).unwrap();
    assert_eq!(file(true), rpath.0);
    let program = route.program_file("libpart-of-a-test.so").unwrap();
    assert_eq!(program, rpath.file("libpart-of-a-test.so"));
}

/// Dependencies of a library are searched in the library's own RUNPATH, never in that of the program.
#[test]
fn the_places_of_a_library_exclude_the_programs_runpath() {
    let [library_path, runpath, own] = [Folder::new(), Folder::new(), Folder::new()];
    let text = |folder: &Folder| Some(OsString::from(folder.text()));
    let folders = [library_path.0.clone(), runpath.0.clone()];
    let route = SearchPath::new(&folders, None, text(&library_path), text(&runpath));
    let by_variable = format!("LD_LIBRARY_PATH, its entry `{}`", library_path.text());
    let by_program = format!("the program's RUNPATH, its entry `{}`", runpath.text());
    assert_eq!(route.looked_at()[..2], [&*by_variable, &*by_program]);
    let places = route.with_own(Vec::new(), true).looked_at();
    assert_eq!(places[0], by_variable);
    assert!(!places.contains(&by_program), "{places:?}");
    let places = |tags: &str, rpath: &str| {
        let file = own.file("libx.so");
        let flags = ["-Wl,--".to_string() + tags, format!("-Wl,-rpath,{rpath}")];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        compile("int x;", &file, &flags);
        let elf = Elf::open(&file).unwrap();
        let places = route.of_library(&elf, &file).looked_at();
        assert!(!places.contains(&by_program), "{places:?}");
        places[..2].to_vec()
    };
    let own = own.text();
    let named = |kind: &str| format!("the {kind} of libx.so, its entry `{own}`");
    assert_eq!(
        places("enable-new-dtags", "$ORIGIN"),
        [by_variable.clone(), named("RUNPATH")]
    );
    assert_eq!(
        places("disable-new-dtags", "$ORIGIN"),
        [named("RPATH"), by_variable.clone()]
    );
    // A link that makes a library findable goes to a directory that is searched for every library.
    let file = runpath.file("libx.so.1");
    assert_eq!(route.directory_for(&file), Some(&*library_path.0));
}

/// The loader skips a directory whose state it cannot determine.
#[test]
fn a_directory_that_is_a_symlink_loop_is_skipped() {
    let (cudnn, out) = (sound(), Folder::new());
    let circle = out.file("loop");
    std::os::unix::fs::symlink(&circle, &circle).unwrap();
    let long = out.file(&"x".repeat(300));
    for skipped in [circle, long] {
        let list = format!("{}:{}", skipped.display(), cudnn.text());
        let way = ("LD_LIBRARY_PATH", &*list);
        run("load", &out.0, &[way]).must_end_with(0);
        version(&out, &[way]).must_be("pass", &[]);
        let folders = [skipped.clone(), cudnn.0.clone()];
        let route = SearchPath::new(&folders, None, Some(list.into()), None);
        let file = route.program_file("libcudnn.so.9");
        assert_eq!(file, Some(cudnn.file("libcudnn.so.9")));
    }
}

#[test]
fn the_loader_cache_is_read() {
    let system = System::default();
    let own = system.cached("libc.so.6");
    assert!(own.iter().any(|file| file.is_file()), "{own:?}");
    assert_eq!(
        system.cached("libnobody-has-this.so.1"),
        Vec::<PathBuf>::new()
    );
    // The cache comes after the configured directories and before the default directories of the system.
    let folders = ["/named", "/usr/lib"].map(PathBuf::from);
    let mut wanted = vec![PathBuf::from("/named/libc.so.6")];
    wanted.extend(own);
    wanted.push("/usr/lib/libc.so.6".into());
    let path = SearchPath::new(&folders, None, Some("/named".into()), None);
    let candidates = path.candidates("libc.so.6").into_iter();
    assert_eq!(Vec::from_iter(candidates.map(|(_, file)| file)), wanted);
    let made = cache_of(&[("libcudnn.so.9.1", "/a"), ("libcudnn.so.9", "/b")]);
    let parsed = |name: &str| ld_so_cache::parse(&made, name);
    assert_eq!(parsed("libcudnn.so.9"), [Path::new("/b")]);
    assert_eq!(parsed("libcudnn.so.9.1"), [Path::new("/a")]);
    let bytes = std::fs::read(ld_so_cache::CACHE).unwrap();
    for end in (0..bytes.len()).step_by(997) {
        ld_so_cache::parse(&bytes[..end], "libc.so.6");
    }
}
