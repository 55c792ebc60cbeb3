//! A cuDNN whose headers, libraries and sub-libraries do not go together.
