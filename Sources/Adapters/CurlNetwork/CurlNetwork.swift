public import LinkCore
public import LinkDriver

/// Opens WebSockets and performs REST requests through libcurl, on a thread of its own.
///
/// A socket delivers events until its `close` returns or is cut short. After that it delivers none,
/// except that a socket that never opened still delivers its one `failed`. A dropped handle closes
/// its socket with 1001. `LinkProtocols` implements WebSocket over the stream that libcurl
/// connected. TLS is 1.2 or newer; certificates and names are always verified. The thread sleeps
/// while idle, and ends when this value and all handles are gone.
public final class CurlNetwork: SocketDialer, HTTPClient {
  private let lifetime: Lifetime

  /// Starts the thread; throws `.local` if the process has no descriptors or threads left.
  public init(_ configuration: CurlConfiguration = CurlConfiguration()) throws(LinkFailure) {
    guard let loop = NetworkLoop(configuration), loop.executor.start(loop) else {
      throw .local(detail: "The network's thread could not be started.")
    }
    lifetime = Lifetime(loop)
  }

  /// Returns why a URL can never be used for a WebSocket or for HTTP; `nil` if it can.
  public static func problem(ofURL url: String) -> String? {
    do throws(LinkFailure) {
      _ = try Address(
        url, query: [], schemes: ["ws": false, "wss": true, "http": false, "https": true])
      return nil
    } catch {
      guard case .local(let detail) = error else { return nil }
      return detail
    }
  }

  /// Opens a WebSocket. `close` on a handle that is not open yet ends the socket with one
  /// `.failed`.
  public func open(
    _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle {
    let id = await lifetime.loop.open(request, mostInTurn: 1) { turn in
      for event in turn { await deliver(event) }
    }
    return Handle(lifetime, id: id)
  }

  /// Opens a WebSocket like `open`, and delivers all events of one read in one call.
  public func openInTurns(
    _ request: SocketRequest, deliver: @escaping @Sendable ([SocketEvent]) async -> Void
  ) async -> any SocketHandle {
    Handle(lifetime, id: await lifetime.loop.open(request, mostInTurn: .max, deliver: deliver))
  }

  /// Performs one exchange without following redirects. Cancelling the task ends it with `.local`.
  ///
  /// A compressed body is decoded; the limit applies to its decoded size.
  public func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
    try await lifetime.loop.send(request).get()
  }

  /// Closes idle connections. Requests in progress continue, and their connections close with them.
  public func forgetConnections() async {
    await lifetime.loop.forgetConnections()
  }
}

/// An owner that keeps the thread alive as long as a handle exists.
private final class Lifetime: Sendable {
  let loop: NetworkLoop

  init(_ loop: NetworkLoop) {
    self.loop = loop
  }

  deinit {
    loop.executor.stop()
  }
}

private final class Handle: RawSocketHandle {
  private let lifetime: Lifetime
  private let id: UInt64

  init(_ lifetime: Lifetime, id: UInt64) {
    (self.lifetime, self.id) = (lifetime, id)
  }

  deinit {
    Task { [lifetime, id] in await lifetime.loop.abandon(id) }
  }

  func send(text: [UInt8]) async -> SocketSending {
    await lifetime.loop.send(id, text: text)
  }

  func send(binary: [UInt8]) async -> SocketSending {
    await lifetime.loop.send(id, binary: binary)
  }

  func send(raw: [UInt8]) async -> SocketSending {
    await lifetime.loop.send(id, raw: raw)
  }

  func takeCompressedMessages() async -> Int {
    await lifetime.loop.takeCompressedMessages(id)
  }

  func ping(id ping: UInt64) async {
    await lifetime.loop.ping(id, ping)
  }

  func close(code: UInt16, reason: String) async {
    await lifetime.loop.close(id, code: code, reason: reason)
  }
}

/// The trusted authorities, the proxy and the limits of a `CurlNetwork`.
public struct CurlConfiguration: Sendable, Equatable {
  /// A PEM file of authorities to trust in addition to the system's.
  public var authorities: String?
  /// A proxy URL in libcurl's syntax; `nil` reads the environment, an empty text means no proxy.
  ///
  /// Requests to loopback never go through the proxy.
  public var proxy: String?
  /// Whether `ws` and `http` may leave this device; to loopback they are always allowed.
  public var allowsPlaintext: Bool
  /// The bytes that a socket queues for sending before `send` returns `.full`.
  public var maxQueuedBytes: Int
  /// The maximum number of frames of one message; a message with more is dropped unread.
  ///
  /// The default is 16 MiB in frames of 64 bytes, the smallest of Autobahn's case 9.3.
  public var maxFragments: Int
  /// Whether the client offers `permessage-deflate` (RFC 7692).
  public var offersDeflate: Bool

  /// Creates a configuration.
  ///
  /// The defaults trust only the system's authorities and allow plaintext only to loopback.
  public init(
    authorities: String? = nil, proxy: String? = nil, allowsPlaintext: Bool = false,
    maxQueuedBytes: Int = 1_048_576, maxFragments: Int = 262_144, offersDeflate: Bool = true
  ) {
    self.authorities = authorities
    self.proxy = proxy
    self.allowsPlaintext = allowsPlaintext
    self.maxQueuedBytes = maxQueuedBytes
    self.maxFragments = maxFragments
    self.offersDeflate = offersDeflate
  }
}
