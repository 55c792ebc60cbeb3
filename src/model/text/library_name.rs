//! Tests of the file names of shared libraries.

use crate::runtime::facts::{LibraryName, Version};

#[test]
fn file_names_of_shared_libraries() {
    for (file, name, numbers) in [
        ("libcudnn.so", "cudnn", &[][..]),
        ("libcudnn.so.9", "cudnn", &[9]),
        ("libcudnn_ops_infer.so.8.9.7", "cudnn_ops_infer", &[8, 9, 7]),
        ("libcudnn-74a4c495.so.9.1.0", "cudnn-74a4c495", &[9, 1, 0]),
        ("cudnn64_9.dll", "cudnn", &[9]),
        (
            "cudnn_engines_tensor_ir64_9.dll",
            "cudnn_engines_tensor_ir",
            &[9],
        ),
    ] {
        let expected = LibraryName {
            name: name.into(),
            numbers: numbers.to_vec(),
            is_dll: file.ends_with(".dll"),
        };
        assert_eq!(LibraryName::read(file), Some(expected));
    }
    for file in [
        "",
        "lib.so",
        "cudnn.so",
        "libcudnn_graph.so-old",
        "libcudnn.so.9.bak",
        "libcudnn.so.",
        "libcudnn.so.9.",
        "libcudnn.so.99999999999",
        "libcudnn_static.a",
        "cudnn_graph64_old.dll",
        "cudnn_graph64_.dll",
        "cudnn64_9.dll.old",
        "libcudnn.so.+9",
    ] {
        assert_eq!(LibraryName::read(file), None, "{file}");
    }
}

#[test]
fn a_version_has_three_numbers() {
    let version = |file| LibraryName::read(file)?.release();
    let expected = Some(Version::new(9, 14, 0));
    assert_eq!(version("libcudnn_cnn.so.9.14.0"), expected);
    assert_eq!(version("libcudnn_cnn.so.9"), None);
    assert_eq!(version("libcudnn_cnn.so.9.14.0.1"), None);
}
