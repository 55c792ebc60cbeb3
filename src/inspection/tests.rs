//! Programs that are inspected by one command share what was read of their libraries.

use crate::inspection::Inspection;
use crate::runtime::system::PathCache;
use crate::runtime::system::path_cache::asked;
use std::ffi::OsString;
use std::fs;
use std::process::Command;

/// Returns the numbers of queries and opened files for this many programs: those of the programs, and all others.
fn queries(count: usize) -> (usize, usize) {
    let name = format!("cudnn-guard-shared-{}-{count}", std::process::id());
    let dir = fs::canonicalize(std::env::temp_dir()).unwrap().join(name);
    fs::create_dir_all(&dir).unwrap();
    let compile = |file: &str, code: &str, flags: &[&str]| {
        let (file, source) = (dir.join(file), dir.join("source.c"));
        fs::write(&source, code).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-nostdlib", "-nostartfiles", "-fPIC", "-o"]);
        cc.arg(&file).arg(&source).args(flags);
        assert!(cc.status().unwrap().success());
        file
    };
    let library = |name: &str, code: &str| {
        let soname = format!("-Wl,-soname,{name}");
        compile(name, code, &["-shared", &soname])
    };
    let cudnn = library("libcudnn.so.9", "int cudnnGetVersion(void) { return 0; }");
    library(
        "libcudnn_graph.so.9",
        "const unsigned char cudnn_graph_version[4] = { 0, 14, 9, 0 };",
    );
    library("libcudnn_ops.so.9", "int nothing;");
    let code = "int cudnnGetVersion(void); void _start(void) { cudnnGetVersion(); }";
    let program = compile(
        "program",
        code,
        &[cudnn.to_str().unwrap(), "-Wl,-rpath,$ORIGIN/../.."],
    );
    let own = dir.join("programs");
    let programs = (0..count).map(|number| {
        let copy = own.join(format!("{number}/app"));
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(&program, &copy).unwrap();
        copy
    });
    let programs: Vec<_> = programs.collect();
    asked::take();
    let cache = PathCache::start();
    for program in &programs {
        let inspection = Inspection::read(program, None).unwrap();
        assert!(inspection.input.cudnn.is_some());
    }
    drop(cache);
    let asked = asked::take();
    let is_own = |(query, path): &&(&str, OsString)| {
        let path = match *query {
            "open" => fs::canonicalize(path).unwrap(),
            _ => path.into(),
        };
        path.starts_with(&own)
    };
    let of_programs = asked.iter().filter(is_own).count();
    fs::remove_dir_all(&dir).unwrap();
    (of_programs, asked.len() - of_programs)
}

#[test]
fn what_a_command_reads_grows_only_by_the_programs() {
    let [(few, shared), (many, same)] = [3, 30].map(queries);
    assert_eq!(shared, same);
    // The directory of all programs counts, too.
    assert!(many <= 10 * few, "{few} and {many} queries");
}
