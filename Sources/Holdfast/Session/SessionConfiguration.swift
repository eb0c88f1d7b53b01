public import Foundation
public import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastSession
public import HoldfastSocket

/// The configuration of a session.
///
///     let configuration = SessionConfiguration(
///       "wss://example.com/session", storage: .directory(directory)
///     ) { try await keychain.sessionKey() }
public struct SessionConfiguration: Sendable {
  /// The URL of the server: `wss://host[:port]/path`, or a `ws://` URL of this device. The path of
  /// this package's server is `/session`.
  public var url: String
  /// The location of the data that must not be lost. Only one session may use it at a time.
  public var storage: StorageLocation<any ClientSessionStore>
  /// The source of the key. It is asked at the start and again after each refusal.
  ///
  /// If the server requests a proof of the key instead, the key never leaves the process. A time of
  /// expiry is not used, since the key is needed only to connect.
  ///
  /// The key may also be a token of an identity provider (a JWT), which is sent in `Authorization`
  /// when a socket is opened. The server then shows only conversations of the token's user.
  public var tokens: TokenSource
  /// The rules for connecting and for handling failures.
  public var policy = LinkPolicy.session
  /// Whether `ws://` URLs of other devices are allowed. Everyone on the network path can read and
  /// change what is sent over them.
  public var allowsPlaintext = false
  /// The time limit for an answer from a server without idempotency keys. It is at least 1 s.
  ///
  /// After this time, the state of the prompt is `unsure`. The default is 5 minutes.
  public var answerTimeout = SessionSettings.usualAnswerTimeout
  /// The default conversation of prompts, a lower-case UUID.
  ///
  /// `nil` selects the most recently used conversation or, if there is none, a new one.
  public var conversation: String?
  /// The path of a journal that records every decision for `holdfast replay`, or `nil` for no
  /// journal.
  ///
  /// The journal contains no keys.
  public var journal: String?
  /// The parts of the device that the session uses.
  public var ports = DevicePorts()

  /// Creates the default configuration for the URL of a server.
  public init(
    _ url: String, storage: StorageLocation<any ClientSessionStore>, tokens: TokenSource
  ) {
    (self.url, self.storage, self.tokens) = (url, storage, tokens)
  }

  /// Creates the default configuration for the URL of a server.
  public init(_ url: URL, storage: StorageLocation<any ClientSessionStore>, tokens: TokenSource) {
    self.init(url.absoluteString, storage: storage, tokens: tokens)
  }

  /// Creates the default configuration for the URL of a server.
  ///
  /// - Parameter key: A closure that returns the key. It is called at the start and again after
  ///   each refusal. It throws `TokenFailure.rejected` if the user has to sign in again; after any
  ///   other error it is called again later.
  public init(
    _ url: String, storage: StorageLocation<any ClientSessionStore>,
    key: @escaping @Sendable () async throws -> String
  ) {
    self.init(url, storage: storage, tokens: TokenSource(key))
  }
}

extension SessionConfiguration {
  /// Returns the host of the URL.
  ///
  /// - Throws: `.configuration` if the session could never connect, or a value is out of its range.
  func checkedHost() throws(OpenError) -> String {
    guard answerTimeout >= SessionSettings.leastAnswerTimeout else {
      throw .configuration("answerTimeout is at least 1 s")
    }
    var socket = SocketConfiguration(url)
    (socket.allowsPlaintext, socket.ports) = (allowsPlaintext, ports)
    let host = try socket.host()
    try tokens.check()
    return host
  }
}

extension StorageLocation<any ClientSessionStore> {
  /// Returns the store, which is opened unless the app supplies it.
  func open() async throws(StoreFailure) -> any ClientSessionStore {
    switch self {
    case .directory(let path): return try await HoldfastPlatform.sessionStore(in: path)
    case .memory: return MemoryClientSessionStore()
    case .store(let own): return own
    }
  }
}
