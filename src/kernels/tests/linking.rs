//! The linking of device code and of the CUDA runtime.

use crate::kernels::Cudart;
use crate::kernels::tests::package::Package;

/// Kernels that call functions of another file.
#[test]
fn relocatable_device_code_is_linked_by_nvcc() {
    for flag in ["-rdc=true", "-dc"] {
        let mut package = Package::new(&[("src/a.cu", ""), ("src/b.cu", "")]);
        package.archs = "80 compute_80";
        package.flags = vec![flag.to_string()];
        let object = |name: &str| {
            let hash = package.hash(&format!("src/{name}.cu"));
            format!("./out/cudnn-guard/libk/{name}-{hash:016x}.o")
        };
        let link = format!(
            "-dlink -o ./out/cudnn-guard/libk/device-link.o {} {} -gencode=arch=compute_80,code=sm_80 \
             -Xcompiler -fPIC -DN=4 -DM -rdc=true",
            object("a"),
            object("b")
        );
        let lines = package.compile().1;
        let calls = package.calls();
        assert_eq!((calls.len(), &calls[2]), (3, &link));
        assert!(
            calls[..2].iter().all(|call| call.ends_with(" -rdc=true")),
            "{calls:?}"
        );
        let archive = std::fs::read(package.path("out/libk.a")).unwrap();
        assert!(String::from_utf8_lossy(&archive).contains("device-link.o"));
        // The toolkit here has no libcudadevrt.a.
        assert!(
            !lines.iter().any(|line| line.contains("cudadevrt")),
            "{lines:?}"
        );
        assert_eq!((package.compile().0, package.calls()), (Ok(()), vec![]));
        package.write("src/b.cu", "x");
        package.write("cuda/lib64/libcudadevrt.a", "!<arch>\n");
        let lines = package.compile().1;
        let places = [
            "=static=k",
            "=static:-bundle=k_cudadevrt",
            "=static:-bundle=k_cudart",
        ]
        .map(|end| lines.iter().position(|line| line.ends_with(end)));
        assert!(
            places[0] < places[1] && places[1] < places[2] && places[0].is_some(),
            "{lines:?}"
        );
        let calls = package.calls();
        assert_eq!((calls.len(), &calls[1]), (2, &link));
        std::fs::remove_file(package.path("src/b.cu")).unwrap();
        assert_eq!((package.compile().0, package.calls().len()), (Ok(()), 1));
    }
}

/// Device code is linked for the targets of its kernels, also if only a variable of nvcc requests it.
#[test]
fn relocatable_device_code_is_linked_for_its_targets() {
    let package = Package::new(&[("src/a.cu", ""), ("src/b.cu", "")]);
    let compiled = package.run(&package.toolchain(), |kernels| {
        kernels.archs(["90"]).flag("-dc")
    });
    compiled.0.unwrap();
    let calls = package.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(calls[1].contains(" -rdc=true"), "{calls:?}");
    assert!(
        calls[2].starts_with("-dlink ") && calls[2].contains("code=sm_90"),
        "{calls:?}"
    );
    let mut package = Package::new(&[("src/a.cu", "")]);
    package.env = vec![("NVCC_APPEND_FLAGS", "-rdc=true".to_string())];
    package.compile().0.unwrap();
    assert_eq!(package.calls().len(), 2);
}

#[test]
fn the_runtime_is_static_by_default() {
    let package = Package::new(&[("src/a.cu", "")]);
    let link = |named: Option<Cudart>| {
        let (result, mut lines) = package.run(&package.toolchain(), |mut kernels| {
            kernels.cudart = named;
            kernels
        });
        lines.retain(|line| line.contains("cudart") || line.contains("rpath"));
        (result, lines)
    };
    std::fs::remove_file(package.path("cuda/lib64/libcudart_static.a")).unwrap();
    assert_eq!(link(None).1, ["cargo::rustc-link-lib=dylib=cudart"]);
    assert_eq!(
        link(Some(Cudart::Static)).0.unwrap_err(),
        "the CUDA toolkit at `./cuda` does not contain `libcudart_static.a`, but build.rs requests `Cudart::Static`  [partial-toolkit]\n  \
         = help: install the complete toolkit, or the package `cuda-cudart-dev` of this version\n  \
         = help: call `.cudart(Cudart::Shared)` in build.rs\n  \
         see         cudnn-guard explain partial-toolkit"
    );
    package.write("cuda/lib64/libcudart_static.a", "!<arch>\n");
    package.write("cuda/lib64/libcudart.so.13", "");
    let fixed = ["cargo::rustc-link-lib=static:-bundle=k_cudart"];
    assert_eq!(link(None).1, fixed);
    assert_eq!(link(Some(Cudart::Static)).1, fixed);
    assert_eq!(
        link(Some(Cudart::Shared)).1,
        [
            "cargo::rustc-link-lib=dylib:+verbatim=libcudart.so.13",
            "cargo::rustc-link-arg=-Wl,-rpath,./cuda/lib64"
        ]
    );
    assert_eq!(link(Some(Cudart::None)).1, [""; 0]);
}

/// Otherwise each call copies the archive of the calls before.
#[test]
fn ar_gets_all_objects_in_one_call() {
    const LOG: &str = "CUDNN_GUARD_TEST_LOG";
    let test = "kernels::tests::linking::ar_gets_all_objects_in_one_call";
    let mut package = Package::new(&[("bin/empty", "")]);
    // The cc crate reads AR from the environment of the process.
    if std::env::var_os(LOG).is_none() {
        let script = format!(
            "printf '#!/bin/sh\\necho $1 >>{0}/log\\nexec ar \"$@\"\\n' >{0}/ar && chmod 755 {0}/ar",
            package.dir.display()
        );
        let shell = std::process::Command::new("sh")
            .args(["-c", &script])
            .status();
        assert!(shell.unwrap().success());
        let this = std::env::current_exe().unwrap();
        let mut again = std::process::Command::new(this);
        again.args(["--exact", test]).env(LOG, package.path("log"));
        let again = again.env("AR", package.path("ar")).output().unwrap();
        assert!(again.status.success(), "{again:?}");
        let calls = std::fs::read_to_string(package.path("log")).unwrap();
        assert_eq!(calls.matches("cq").count(), 1, "{calls}");
        return;
    }
    package.out = "out 1";
    std::fs::create_dir(package.path(package.out)).unwrap();
    let mut expected = String::new();
    for number in 10..30 {
        let stem = format!("{}{number}", "a".repeat(200));
        package.write(&format!("src/{stem}.cu"), "");
        let hash = package.hash(&format!("src/{stem}.cu"));
        expected += &format!("{stem}-{hash:016x}.o\n");
    }
    package.compile().0.unwrap();
    let archive = package.path(package.out).join("libk.a");
    let listed = std::process::Command::new("ar")
        .arg("t")
        .arg(archive)
        .output();
    assert_eq!(String::from_utf8_lossy(&listed.unwrap().stdout), expected);
}
