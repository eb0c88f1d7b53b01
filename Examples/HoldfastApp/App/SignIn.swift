import Holdfast
import HoldfastAppleApp
import HoldfastPorts
import HoldfastUI
import Observation

/// The user's sign-in, whose secrets are in the keychain.
///
/// A real app asks its server for them. This one takes what `holdfast token` and `holdfast serve` have
/// written.
@MainActor @Observable final class SignIn {
  /// Whether the user has signed in.
  private(set) var isSignedIn = false
  /// The reason why the keychain or a store failed last.
  private(set) var failure: StoreFailure?

  /// Reads whether the user has signed in. Before the first unlock of the device, nobody knows.
  func load() {
    attempt { () throws(StoreFailure) in isSignedIn = try Self.keychain.read(.token) != nil }
  }

  /// Stores the secrets, and connects with them what the server refused.
  func signIn(token: String, sessionKey: String) {
    attempt { () throws(StoreFailure) in
      try Self.write(token, .token)
      try Self.write(sessionKey, .sessionKey)
      isSignedIn = true
      Links.main.shop(Links.shop).reconnect()
      Links.session.conversation().reconnect()
    }
  }

  /// Asks for the secrets again, because the server refused them.
  func signInAgain() { isSignedIn = false }

  /// Removes the secrets and everything that was stored for the user.
  func signOut() async {
    isSignedIn = false
    attempt { () throws(StoreFailure) in
      try Self.keychain.write(nil, .token, access: .afterFirstUnlock)
      try Self.keychain.write(nil, .sessionKey, access: .afterFirstUnlock)
    }
    for links in [Links.session, Links.main] {
      do throws(StoreFailure) {
        try await links.signOut()
      } catch {
        failure = error
      }
    }
  }

  /// Returns a secret for a link, which asks again after a refusal.
  nonisolated static func read(_ name: SecretName) throws -> String {
    guard let secret = try keychain.read(name) else { throw TokenFailure.rejected }
    return secret.text
  }

  /// The keychain's items of this app.
  private nonisolated static let keychain = Keychain(service: Links.Name.secrets)

  private static func write(_ text: String, _ name: SecretName) throws(StoreFailure) {
    // Uploads and answers need the secrets while the device is locked.
    try keychain.write(text.isEmpty ? nil : Secret(text), name, access: .afterFirstUnlock)
  }

  private func attempt(_ act: () throws(StoreFailure) -> Void) {
    do throws(StoreFailure) {
      try act()
      failure = nil
    } catch {
      failure = error
    }
  }
}

extension SecretName {
  /// The token of shops and of the sync.
  static let token = SecretName("token")!
  /// The key of the session.
  static let sessionKey = SecretName("session-key")!
}
