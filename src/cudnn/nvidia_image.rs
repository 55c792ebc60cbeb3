//! NVIDIA's container images, whose environment variables list the installed packages:
//! <https://gitlab.com/nvidia/container-images/cuda>

use crate::model::Environment;

/// Returns the image, if it is one of nvidia/cuda but not a `-devel` image, and the variable that identifies it:
/// `nvidia/cuda:12.4.1-runtime (from NV_CUDA_LIB_VERSION=12.4.1-1)`.
pub fn without_headers(env: &Environment) -> Option<String> {
    let value = |name: &'static str| Some((name, env.var(name)?));
    // The devel image is based on the runtime image, which is based on the base image.
    if env.var("NV_CUDA_CUDART_DEV_VERSION").is_some() {
        return None;
    }
    let runtime = value("NV_CUDA_LIB_VERSION");
    let (name, value) = runtime.or_else(|| value("NV_CUDA_CUDART_VERSION"))?;
    let kind = if runtime.is_some() { "runtime" } else { "base" };
    let version = env
        .var("CUDA_VERSION")
        .map_or_else(String::new, |version| format!("{version}-"));
    Some(format!("nvidia/cuda:{version}{kind} (from {name}={value})"))
}

/// Returns `true` if it has cuDNN's libraries but not its headers.
pub fn is_without_cudnn_headers(env: &Environment) -> bool {
    let has = |name| env.var(name).is_some();
    let cudnn = has("NV_CUDNN_VERSION") || has("NV_CUDNN_PACKAGE");
    cudnn && !has("NV_CUDNN_PACKAGE_DEV")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_identified_by_its_variables() {
        let image = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            let env = Environment::new(pairs.map(|(name, value)| (name.to_string(), value.into())));
            without_headers(&env)
        };
        let base = ("NV_CUDA_CUDART_VERSION", "12.4.127-1");
        let runtime = ("NV_CUDA_LIB_VERSION", "12.4.1-1");
        let version = ("CUDA_VERSION", "12.4.1");
        assert_eq!(
            image(&[base, version]).as_deref(),
            Some("nvidia/cuda:12.4.1-base (from NV_CUDA_CUDART_VERSION=12.4.127-1)")
        );
        assert_eq!(
            image(&[base, runtime]).as_deref(),
            Some("nvidia/cuda:runtime (from NV_CUDA_LIB_VERSION=12.4.1-1)")
        );
        let devel = ("NV_CUDA_CUDART_DEV_VERSION", "12.4.127-1");
        assert_eq!(image(&[base, runtime, devel]), None);
        assert_eq!(image(&[version]), None, "anybody may set that");
    }
}
