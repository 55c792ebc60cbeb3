//! A copy of cuDNN that auditwheel put into a wheel, with a hash in its name, as in the wheels of CTranslate2.

use super::image::{Image, ids};
use serde_json::Value;
use std::fs;

const LIBS: &str = "opt/ctranslate2.libs";
const COPY: &str = "libcudnn-74a4c495.so.9.1.0";

/// Creates a program that is linked with a library of a wheel. That library needs this copy from its own directory.
fn image(name: &str, copy: &str) -> Image {
    let image = Image::new(name);
    let copy = format!("{LIBS}/{copy}");
    image.library(&copy, "int cudnnGetVersion(void) { return 0; }", &[]);
    let user = format!("{LIBS}/libctranslate2-bc15bf3f.so.4.5.0");
    let flags = ["-Wl,--no-as-needed", &format!("IMAGE/{copy}")];
    image.library(&user, "int nothing;", &flags);
    let flags = [
        &*format!("IMAGE/{user}"),
        "-Wl,-rpath,/opt/ctranslate2.libs",
    ];
    image.program(&[], &flags);
    image
}

/// OpenNMT/CTranslate2: installing cuDNN 9 does not provide a file of that name.
#[test]
fn a_bundled_copy_that_the_loader_does_not_find_is_reported() {
    let image = image("bundled-missing", COPY);
    let help = |wanted: &str| {
        let json = image.json();
        let finding = &json["findings"][0];
        assert_eq!(finding["id"], "library-not-found", "{json}");
        assert_eq!(finding["help"], serde_json::json!([wanted]), "{json}");
    };
    help("add `/opt/ctranslate2.libs` to LD_LIBRARY_PATH");
    image.inspect(&[]).exits_with(1);
    // Follow the help.
    let dir = image.at(LIBS);
    let ran = image.inspect_with(&["--json"], dir.to_str().unwrap());
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(!ids(&json).contains(&"library-not-found"), "{json}");

    fs::rename(dir.join(COPY), dir.join("elsewhere")).unwrap();
    let user = dir.join("libctranslate2-bc15bf3f.so.4.5.0");
    help(&format!(
        "reinstall the Python package of `{}`, which includes its own copy of this library",
        user.display()
    ));
}

/// whisper-diarization#259: the wheel contains a copy of the main library, but no sub-libraries.
#[test]
fn a_bundled_copy_without_its_sub_libraries_is_reported() {
    let image = image("bundled-alone", COPY);
    image.cudnn("opt/cudnn", 10);
    fs::remove_file(image.at("opt/cudnn/libcudnn.so.9")).unwrap();
    let inspect = |path: &str| {
        let path = image.at(path);
        let path = format!("{}:{}", image.at(LIBS).display(), path.display());
        let ran = image.inspect_with(&["--json"], &path).exits_with(0);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let json = inspect("nowhere");
    assert_eq!(json["findings"][0]["id"], "parts-missing", "{json}");
    let help = "install cuDNN 9, and add its directory to LD_LIBRARY_PATH";
    assert_eq!(json["findings"][0]["help"], serde_json::json!([help]));
    // The package may never use its copy.
    assert_eq!(json["findings"][0]["severity"], "warning");
    assert_eq!(json["cudnn"]["version"], "9.1.0");
    // Follow the help: a copy of 9.1.0 works with the sub-libraries of a later version.
    let json = inspect("opt/cudnn");
    assert_eq!(json["cudnn"]["version"], "9.10.0", "{json}");
    for id in ["parts-missing", "parts-mixed", "cudnn-not-loadable"] {
        assert!(!ids(&json).contains(&id), "{json}");
    }
}

/// Similar names that belong to a regular cuDNN or to another library.
#[test]
fn only_a_name_with_a_hash_is_a_bundled_copy() {
    for name in [
        "libcudnn.so.9",
        "libcudnn-frontend.so.9",
        "libcudnn-74a4c495f.so.9",
    ] {
        let image = image("bundled-name", name);
        let ran = image.inspect(&["--json"]);
        assert!(!ran.stdout.contains("install the Python package"), "{name}");
        let dir = image.at(LIBS);
        fs::remove_file(dir.join(name)).unwrap();
        let ran = image.inspect(&["--json"]);
        assert!(!ran.stdout.contains("install the Python package"), "{name}");
    }
}
