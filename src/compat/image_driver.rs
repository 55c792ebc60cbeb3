//! The driver that a container image requires: NVIDIA's container toolkit reads NVIDIA_REQUIRE_CUDA when it starts a
//! container with a GPU, and fails if no alternative is met.
//! <https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html>

use crate::compat;
use crate::model::environment::Environment;
use crate::model::platform::Platform;
use crate::runtime::facts::version::Version;

pub const REQUIRE: &str = "NVIDIA_REQUIRE_CUDA";
pub const DISABLE: &str = "NVIDIA_DISABLE_REQUIRE";

/// A driver that is older than a container image requires.
#[derive(Debug, PartialEq)]
pub struct ImageNeedsDriver<'a> {
    /// The newest CUDA that the driver supports.
    pub driver: Version,
    /// The lowest CUDA version that the image requires from the driver.
    pub required: Version,
    pub requirement: &'a str,
    /// The first driver version that supports the required CUDA, if the tables contain it.
    pub first_driver: Option<&'static str>,
}

/// Returns the fault if this driver meets none of the alternatives, which are separated by spaces: `cuda>=12.8
/// brand=tesla,driver>=535,driver<536`. Unknown conditions may be met.
pub fn unmet<'a>(
    env: &'a Environment,
    cuda: Version,
    release: Option<&str>,
    platform: &Platform,
) -> Option<ImageNeedsDriver<'a>> {
    let requirement = env.var(REQUIRE)?;
    if env.var(DISABLE).is_some() {
        return None;
    }
    let release = release.and_then(numbers);
    let fails = |condition: &str| {
        let fails = |name: &str, found: &[u32]| {
            let condition = condition.strip_prefix(name)?;
            match condition.strip_prefix(">=") {
                Some(required) => Some(found < numbers(required)?.as_slice()),
                None => Some(found >= numbers(condition.strip_prefix('<')?)?.as_slice()),
            }
        };
        let by_cuda = fails("cuda", &[cuda.major, cuda.minor]);
        let by_driver = release.as_deref().and_then(|found| fails("driver", found));
        by_cuda.or(by_driver).unwrap_or(false)
    };
    let refused = |alternative: &str| alternative.split(',').any(fails);
    if !requirement.split_whitespace().all(refused) {
        return None;
    }
    let levels = requirement.split([' ', ',']).filter_map(|condition| {
        // The version has one number or more.
        Version::parse(&format!("{}.0", condition.strip_prefix("cuda>=")?))
    });
    let required = levels.filter(|required| *required > cuda).min()?;
    Some(ImageNeedsDriver {
        driver: cuda,
        required,
        requirement,
        first_driver: compat::driver_for(required, platform),
    })
}

/// Parses `535.183.01` or fewer numbers.
fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::facts::finding::Finding;

    fn finding(requirement: &str, cuda: (u32, u32), release: Option<&str>) -> Option<Finding> {
        let env = Environment::new([(REQUIRE.to_string(), requirement.into())]);
        let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
        let cuda = Version::new(cuda.0, cuda.1, 0);
        unmet(&env, cuda, release, &platform).map(|fault| fault.finding())
    }

    #[test]
    fn the_requirement_of_an_image_is_compared_with_the_driver() {
        let requirement =
            "cuda>=12.8 brand=unknown,driver>=535,driver<536 brand=tesla,driver>=550,driver<551";
        assert_eq!(
            finding(requirement, (12, 7), Some("565.57.01"))
                .unwrap()
                .to_string(),
            "the NVIDIA driver supports CUDA 12.7, but this image requires a driver that supports CUDA 12.8  [driver-too-old]\n  \
             = help: upgrade the NVIDIA driver on the host to 570.26 or later\n  \
             = help: use an image with CUDA 12.7 or older\n  \
             = help: start the container with NVIDIA_DISABLE_REQUIRE=1 if the program contains machine code for its GPU\n  \
             variable    NVIDIA_REQUIRE_CUDA=cuda>=12.8 brand=unknown,driver>=535,driver<536 brand=tesla,driver>=550,driver<551"
        );
        // A condition for one brand, and a driver of unknown version.
        assert_eq!(finding(requirement, (12, 2), Some("535.183.01")), None);
        assert_eq!(finding(requirement, (12, 7), None), None);
        assert_eq!(finding(requirement, (12, 10), Some("575.1")), None);
        assert_eq!(finding(requirement, (13, 0), Some("580.65.06")), None);
        assert!(finding("cuda>=12.10", (12, 9), None).is_some());
        assert!(finding("cuda>=13", (12, 9), None).is_some());
        assert_eq!(finding("cuda>=12.9", (12, 10), None), None);
        let major = finding("cuda>=13.0", (12, 9), None).unwrap();
        assert_eq!(major.help.len(), 2, "no way around another major");
        for odd in ["", "cuda>=", "cuda>=twelve", "cuda=99.0", "arch>=99"] {
            assert_eq!(finding(odd, (12, 2), Some("535.1")), None, "{odd}");
        }
    }

    #[test]
    fn a_disabled_requirement_is_ignored() {
        let pairs = [(REQUIRE, "cuda>=12.8"), (DISABLE, "1")];
        let env = Environment::new(pairs.map(|(name, value)| (name.to_string(), value.into())));
        let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
        assert_eq!(unmet(&env, Version::new(12, 7, 0), None, &platform), None);
    }
}
