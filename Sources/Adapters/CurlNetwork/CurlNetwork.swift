public import LinkCore
public import LinkDriver

/// Dials sockets and speaks REST through libcurl, on one thread of its own.
///
/// A socket's events come until its `close` returns or is cut short; then none follows, except that
/// a socket that never opened still tells its one `failed`. A dropped handle closes with 1001.
/// WebSocket is spoken by `LinkProtocols` over the stream that libcurl connected. TLS 1.2 or newer,
/// certificates and names are always checked. The thread ends when this value and every handle are
/// gone; idle, it sleeps.
public final class CurlNetwork: SocketDialer, HTTPClient {
  private let lifetime: Lifetime

  /// Starts the thread; throws `.local` when the process has no descriptors or threads left.
  public init(_ configuration: CurlConfiguration = CurlConfiguration()) throws(LinkFailure) {
    guard let loop = NetworkLoop(configuration), loop.executor.start(loop) else {
      throw .local(detail: "The network's thread could not be started.")
    }
    lifetime = Lifetime(loop)
  }

  /// Returns why nothing can ever be reached at a URL of a WebSocket or of HTTP; `nil` if it is one.
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

  /// Opens a WebSocket. `close` on a handle that is not open yet ends it with one `.failed`.
  public func open(
    _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle {
    let id = await lifetime.loop.open(request, mostInTurn: 1) { turn in
      for event in turn { await deliver(event) }
    }
    return Handle(lifetime, id: id)
  }

  /// The same; what one read brought is handed over in one call.
  public func openInTurns(
    _ request: SocketRequest, deliver: @escaping @Sendable ([SocketEvent]) async -> Void
  ) async -> any SocketHandle {
    Handle(lifetime, id: await lifetime.loop.open(request, mostInTurn: .max, deliver: deliver))
  }

  /// Makes one exchange; redirects are not followed. Cancelling the task ends it with `.local`.
  ///
  /// A body that the server compressed comes, and is measured, decoded.
  public func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
    try await lifetime.loop.send(request).get()
  }

  /// Closes what is idle; what is under way goes on, and its connection ends with it.
  public func forgetConnections() async {
    await lifetime.loop.forgetConnections()
  }
}

/// Keeps the thread alive as long as a handle exists.
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

/// What a `CurlNetwork` may trust and through whom it goes.
public struct CurlConfiguration: Sendable, Equatable {
  /// A PEM file of authorities trusted besides the system's.
  public var authorities: String?
  /// A proxy URL as libcurl takes it; `nil` reads the environment, an empty text means none.
  ///
  /// What is meant for loopback never goes through it.
  public var proxy: String?
  /// Whether `ws` and `http` may leave this device; to loopback they always may.
  public var allowsPlaintext: Bool
  /// Bytes a socket queues for sending before `send` answers false.
  public var maxQueuedBytes: Int
  /// Frames that one message may come in; one of more is dropped unread as one too large.
  ///
  /// The default is 16 MiB in frames of 64 bytes, the smallest of Autobahn's case 9.3.
  public var maxFragments: Int
  /// Whether `permessage-deflate` (RFC 7692) is offered.
  public var offersDeflate: Bool

  /// The defaults trust the system's authorities alone and allow plaintext to loopback only.
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
