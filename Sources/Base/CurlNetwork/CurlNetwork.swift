public import HoldfastCore
public import HoldfastPorts
import HoldfastSocketEngine

/// An adapter that opens WebSockets and sends REST requests through libcurl, on a separate thread.
///
/// A socket delivers events until its `close` returns or is interrupted, and none afterwards.
/// However, a socket that never opened still delivers its one `failed` event. Releasing a handle
/// closes its socket with code 1001. `LinkProtocols` implements WebSocket over the stream that
/// libcurl connects. TLS 1.2 or newer is required, and certificates and names are always verified.
/// The thread sleeps while it is idle, and ends when this value and all handles have been released.
public final class CurlNetwork: SocketDialer, HTTPClient {
  private let lifetime: Lifetime

  /// Starts the thread.
  ///
  /// - Throws: `.local` if the process cannot open descriptors or start a thread.
  public init(_ configuration: CurlConfiguration = CurlConfiguration()) throws(LinkFailure) {
    guard let loop = NetworkLoop(configuration), loop.executor.start(loop) else {
      throw .local(detail: "The network's thread could not be started.")
    }
    lifetime = Lifetime(loop)
  }

  /// Returns the reason why a URL can never be used for WebSocket or HTTP; `nil` if it can be used.
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

  /// Opens a WebSocket. Calling `close` on the handle before the socket is open ends the socket
  /// with one `.failed` event.
  public func open(
    _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle {
    let id = await lifetime.loop.open(request, mostInTurn: 1) { turn in
      for event in turn { await deliver(event) }
    }
    return Handle(lifetime, id: id)
  }

  /// Opens a WebSocket that delivers all events of a read in one call.
  public func openInTurns(
    _ request: SocketRequest, deliver: @escaping @Sendable ([SocketEvent]) async -> Void
  ) async -> any SocketHandle {
    Handle(lifetime, id: await lifetime.loop.open(request, mostInTurn: .max, deliver: deliver))
  }

  /// Performs one exchange. It follows no redirects. If the task is cancelled, the exchange fails
  /// with `.local`.
  ///
  /// A compressed body is decompressed. The limit applies to the decompressed size.
  public func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
    try await lifetime.loop.send(request).get()
  }

  /// Closes idle connections. Requests in progress continue, and their connections close
  /// afterwards.
  public func forgetConnections() async {
    await lifetime.loop.forgetConnections()
  }
}

extension CurlNetwork: ThreadedNetwork {
  package var eventThread: EventThread { EventThread(lifetime.loop.executor, owner: lifetime) }

  package var threadCounters: ThreadCounters { lifetime.loop.executor.counters }
}

/// The owner of the loop. It keeps the thread running as long as a handle exists.
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
  /// The path of a PEM file with authorities to trust in addition to those of the system.
  public var authorities: String?
  /// The URL of a proxy in libcurl's syntax. If it is `nil`, the environment selects a proxy. An
  /// empty string means no proxy.
  ///
  /// Requests to loopback addresses never use the proxy.
  public var proxy: String?
  /// Whether `ws` and `http` connections may leave this device. They are always allowed to
  /// loopback.
  public var allowsPlaintext: Bool
  /// Whether connections are made to public addresses only, whatever a name resolves to. For the
  /// URLs of strangers, without a proxy.
  public var onlyPublicAddresses: Bool
  /// The maximum number of queued bytes of a socket. Above it, `send` returns `.full`.
  public var maxQueuedBytes: Int
  /// The maximum number of frames in a message. A message with more frames is discarded unread.
  ///
  /// The default allows 16 MiB in frames of 64 bytes, which is the smallest size in Autobahn's case
  /// 9.3.
  public var maxFragments: Int
  /// Whether the client offers `permessage-deflate` (RFC 7692).
  public var offersDeflate: Bool
  /// The path of a Unix domain socket to connect to, whatever host a URL names; `nil` for TCP.
  public var unixSocket: String?

  /// Creates a configuration.
  ///
  /// By default, only the system's authorities are trusted, and plaintext is allowed only to
  /// loopback.
  public init(
    authorities: String? = nil, proxy: String? = nil, allowsPlaintext: Bool = false,
    onlyPublicAddresses: Bool = false, maxQueuedBytes: Int = 1_048_576, maxFragments: Int = 262_144,
    offersDeflate: Bool = true
  ) {
    self.authorities = authorities
    self.proxy = proxy
    self.allowsPlaintext = allowsPlaintext
    self.onlyPublicAddresses = onlyPublicAddresses
    self.maxQueuedBytes = maxQueuedBytes
    self.maxFragments = maxFragments
    self.offersDeflate = offersDeflate
  }
}

extension CurlConfiguration {
  /// The limits of each socket.
  var limits: SocketLimits {
    SocketLimits(maxQueuedBytes: maxQueuedBytes, maxFragments: maxFragments)
  }
}
