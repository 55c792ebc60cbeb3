//! Sub-libraries that the loader finds, although they are in no directory of the search path.

use super::program::{GPU, check, run, startup, version};
use crate::support::installation::{Folder, compile_replacing, sound};
use std::fs;
use std::path::Path;

const PART: &str = "libcudnn_ops.so.9";

#[test]
#[cfg(target_arch = "x86_64")]
fn a_sub_library_for_a_level_of_the_cpu_is_found() {
    let cudnn = sound();
    let (level, out) = (cudnn.file("glibc-hwcaps/x86-64-v2"), Folder::new());
    fs::create_dir_all(&level).unwrap();
    fs::rename(cudnn.file(PART), level.join(PART)).unwrap();
    let way = ("LD_LIBRARY_PATH", cudnn.text());
    run("load", &out.0, &[way]).must_end_with(0);
    startup(&out, &[way, GPU]).must_be_silent();
    let ran = check(&out, &[way, GPU]);
    ran.must_be("pass", &[]);
    assert_eq!(ran.part(1), level.join(PART).to_str().unwrap());
    version(&out, &[way]).must_be("pass", &[]);
    // Its version counts too.
    let old = Folder::new().with_cudnn("9.10.2");
    fs::copy(old.file(PART), level.join(PART)).unwrap();
    check(&out, &[way, GPU]).must_be("fail", &["parts-mixed"]);
}

/// The program does not search the directories of cuDNN's own RUNPATH.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_sub_library_for_a_level_of_the_cpu_is_found_below_the_runpath_of_cudnn() {
    let cudnn = sound();
    let level = cudnn.file("glibc-hwcaps/x86-64-v2");
    fs::create_dir_all(&level).unwrap();
    fs::rename(cudnn.file(PART), level.join(PART)).unwrap();
    let main = cudnn.file("libcudnn.so.9");
    let variables = [
        GPU,
        ("LD_LIBRARY_PATH", ""),
        ("TEST_OPEN", main.to_str().unwrap()),
    ];
    run("startup", &cudnn.0, &variables)
        .must_end_with(0)
        .must_say("");
    let ran = run("check", &cudnn.0, &variables);
    ran.must_be("pass", &[]);
    let path = &ran.json["loaded"]["parts"][1]["path"];
    assert_eq!(path, level.join(PART).to_str().unwrap());
}

#[test]
fn a_sub_library_that_a_preloaded_library_redirects_is_found() {
    let (cudnn, other, out) = (sound().without(PART), sound(), Folder::new());
    let shim = out.file("redirect.so");
    let redirect_to = |part: &Path| {
        let redirect = format!(
            "void *dlopen(const char *name, int flags) {{
                NEXT(dlopen);
                return next(name && !strcmp(name, \"{PART}\") ? \"{}\" : name, flags);
            }}",
            part.display()
        );
        compile_replacing(&redirect, &shim);
    };
    redirect_to(&other.file(PART));
    let variables = [
        GPU,
        ("LD_LIBRARY_PATH", cudnn.text()),
        ("LD_PRELOAD", shim.to_str().unwrap()),
    ];
    run("load", &out.0, &variables).must_end_with(0);
    startup(&out, &variables).must_be_silent();
    let ran = check(&out, &variables);
    ran.must_be("pass", &[]);
    assert_eq!(ran.part(1), other.at(PART));
    // Without the redirection, the loader refuses the name too.
    let ran = check(&out, &variables[..2]);
    ran.must_be("fail", &["parts-missing"]);
    // The library is only recognized by the directory in its constants.
    let old = Folder::new().with_cudnn("9.10.2");
    redirect_to(&old.file(PART));
    let ran = check(&out, &variables);
    ran.must_be("fail", &["parts-mixed"]);
    assert!(ran.text.contains("redirect.so"), "{}", ran.text);
}
