//! NVIDIA's container images, which say in their environment what is installed in them:
//! <https://gitlab.com/nvidia/container-images/cuda>

use crate::model::environment::Environment;

/// An image of nvidia/cuda in which nothing can be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// `nvidia/cuda:12.4.1-runtime`
    pub name: String,
    /// What told: `NV_CUDA_LIB_VERSION=12.4.1-1`
    pub told_by: String,
}

/// The image that this is, unless it is the `-devel` one, or none of them.
pub fn without_headers(env: &Environment) -> Option<Image> {
    let value = |name: &'static str| Some((name, env.var(name)?));
    // The devel image is made from the runtime one, and that from the base.
    if env.var("NV_CUDA_CUDART_DEV_VERSION").is_some() {
        return None;
    }
    let runtime = value("NV_CUDA_LIB_VERSION");
    let (name, told) = runtime.or_else(|| value("NV_CUDA_CUDART_VERSION"))?;
    let flavour = if runtime.is_some() { "runtime" } else { "base" };
    let release = env
        .var("CUDA_VERSION")
        .map_or_else(String::new, |release| format!("{release}-"));
    Some(Image {
        name: format!("nvidia/cuda:{release}{flavour}"),
        told_by: format!("{name}={told}"),
    })
}

/// Whether it has cuDNN's libraries alone.
pub fn is_without_cudnn_headers(env: &Environment) -> bool {
    let has = |name| env.var(name).is_some();
    let cudnn = has("NV_CUDNN_VERSION") || has("NV_CUDNN_PACKAGE");
    cudnn && !has("NV_CUDNN_PACKAGE_DEV")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CMP-01
    #[test]
    fn an_image_is_known_by_what_it_says() {
        let image = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            let env = Environment::new(pairs.map(|(name, value)| (name.to_string(), value.into())));
            without_headers(&env).map(|image| format!("{} ({})", image.name, image.told_by))
        };
        let base = ("NV_CUDA_CUDART_VERSION", "12.4.127-1");
        let runtime = ("NV_CUDA_LIB_VERSION", "12.4.1-1");
        let release = ("CUDA_VERSION", "12.4.1");
        assert_eq!(
            image(&[base, release]).as_deref(),
            Some("nvidia/cuda:12.4.1-base (NV_CUDA_CUDART_VERSION=12.4.127-1)")
        );
        assert_eq!(
            image(&[base, runtime]).as_deref(),
            Some("nvidia/cuda:runtime (NV_CUDA_LIB_VERSION=12.4.1-1)")
        );
        let devel = ("NV_CUDA_CUDART_DEV_VERSION", "12.4.127-1");
        assert_eq!(image(&[base, runtime, devel]), None);
        assert_eq!(image(&[release]), None, "anybody may set that");
    }
}
