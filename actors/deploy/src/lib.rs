//! deploy
