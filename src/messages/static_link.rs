//! Static linking.
