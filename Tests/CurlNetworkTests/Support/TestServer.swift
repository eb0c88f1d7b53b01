import Dispatch
import Foundation
import HoldfastProtocols

#if canImport(Glibc)
  import Glibc
#endif

/// A server on 127.0.0.1 that runs `script` for each connection on a separate thread.
final class TestServer: Sendable {
  let listener: Listener
  private let parking: DispatchSemaphore

  init(_ script: @escaping @Sendable (sending Peer) -> Void) throws {
    listener = try Listener()
    let parking = DispatchSemaphore(value: 0)
    self.parking = parking
    // The thread keeps a reference to the listener. Otherwise the descriptor could be reused for
    // the next test's server while this thread still accepts on it.
    Thread.detachNewThread { [listener] in
      while true {
        let accepted = accept(listener.descriptor, nil, nil)
        guard accepted >= 0 else { return }
        Thread.detachNewThread { script(Peer(accepted, parking)) }
      }
    }
  }

  deinit {
    // This ends the accepting thread, which closing the descriptor would not do.
    _ = shutdown(listener.descriptor, Int32(SHUT_RDWR))
  }

  /// Lets one parked connection continue.
  func release() {
    parking.signal()
  }

  var socketURL: String { "ws://127.0.0.1:\(listener.port)/socket" }
  var url: String { "http://127.0.0.1:\(listener.port)" }
}

/// The server's end of a connection. Its methods block. The connection is closed when this object
/// is released.
final class Peer {
  private(set) var descriptor: Int32
  private let parking: DispatchSemaphore
  private var requests = HTTPRequestReader()
  private var socket: WebSocketConnection?
  private var events: ArraySlice<WebSocketEvent> = []

  init(_ descriptor: Int32, _ parking: DispatchSemaphore) {
    (self.descriptor, self.parking) = (descriptor, parking)
  }

  deinit {
    end()
  }

  /// Reads the next request. Returns nil at the end of the stream.
  func request() -> (head: HTTPRequestHead, body: [UInt8])? {
    while true {
      switch requests.next() {
      case .request(let head, let body): return (head, body)
      case .needsContinue: write(HTTPResponseWriter.continueBytes)
      case .announced: continue
      case .failed: return nil
      case nil:
        let bytes = receive()
        guard !bytes.isEmpty else { return nil }
        requests.receive(bytes)
      }
    }
  }

  func answer(
    _ status: Int, _ headers: [(String, String)] = [], _ body: String = "", keepAlive: Bool = true
  ) {
    answer(status, headers, body: Array(body.utf8), keepAlive: keepAlive)
  }

  func answer(
    _ status: Int, _ headers: [(String, String)], body: [UInt8], keepAlive: Bool = true
  ) {
    write(
      HTTPResponseWriter.bytes(
        status: status, headers: headers, body: body, keepAlive: keepAlive))
  }

  /// Reads a request and accepts its upgrade. Returns the head of the request.
  @discardableResult
  func upgrade(deflate: Bool = false) -> HTTPRequestHead? {
    guard let (head, _) = request() else { return nil }
    return upgrade(head, deflate: deflate, headers: [("X-Test", "yes")]) ? head : nil
  }

  /// Accepts the upgrade that `head` requests. Returns false if `head` requests no upgrade.
  @discardableResult
  func upgrade(
    _ head: HTTPRequestHead, deflate: Bool = false, headers: [(String, String)]
  ) -> Bool {
    guard
      case .upgrade(let response, let parameters) = ServerHandshake.accept(
        head, allowsDeflate: deflate, extraHeaders: headers)
    else { return false }
    socket = WebSocketConnection(
      role: .server, limits: WebSocketLimits(oversize: .close), extensions: parameters, maskSeed: 0)
    var meant: [WebSocketEvent] = []
    socket?.receive(requests.takeRest(), into: &meant)
    events += meant
    write(response)
    return true
  }

  /// Returns the next event of the open socket, or nil at the end of the stream.
  func event() -> WebSocketEvent? {
    while events.isEmpty {
      let bytes = receive()
      guard !bytes.isEmpty else { return nil }
      events += take(bytes)
    }
    return events.popFirst()
  }

  /// Passes received bytes to the open socket, sends its output, and returns its events.
  func take(_ bytes: [UInt8]) -> [WebSocketEvent] {
    var meant: [WebSocketEvent] = []
    socket?.receive(bytes, into: &meant)
    write(socket?.takeOutput() ?? [])
    return meant
  }

  func send(_ text: String) {
    var out: [UInt8] = []
    _ = socket?.send(text: Array(text.utf8), into: &out)
    write(out)
  }

  func send(binary: [UInt8]) {
    var out: [UInt8] = []
    _ = socket?.send(binary: binary, into: &out)
    write(out)
  }

  /// Sends all messages in one write.
  func send(binaries: [[UInt8]]) {
    var out: [UInt8] = []
    for binary in binaries { _ = socket?.send(binary: binary, into: &out) }
    write(out)
  }

  func ping(_ payload: String) {
    var out: [UInt8] = []
    _ = socket?.ping(Array(payload.utf8), into: &out)
    write(out)
  }

  func close(_ code: UInt16, _ reason: String = "") {
    var out: [UInt8] = []
    socket?.close(code: code, reason: reason, into: &out)
    write(out)
  }

  /// Reads until the other end closes the connection.
  func drain() {
    while !receive().isEmpty {}
  }

  /// Waits, without reading, until the server's `release` is called.
  func park() {
    parking.wait()
  }

  /// Closes the connection with a RST instead of a FIN.
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    _ = unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    end()
  }

  /// Sends a FIN and stops reading. A read on another thread then returns the end of the stream.
  func shut() {
    _ = shutdown(descriptor, Int32(SHUT_RDWR))
  }

  func end() {
    guard descriptor >= 0 else { return }
    _ = Glibc.close(descriptor)
    descriptor = -1
  }

  func write(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Writes `bytes` repeatedly while the other end accepts more. Returns the number of bytes
  /// written.
  func flood(_ bytes: [UInt8], timeLimit milliseconds: Int32) -> Int {
    var written = 0
    while true {
      let rest = bytes[(written % bytes.count)...]
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.send(
          descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      if count > 0 {
        written += count
        continue
      }
      guard errno == EAGAIN else { return written }
      var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard unsafe poll(&entry, 1, milliseconds) == 1 else { return written }
    }
  }

  @discardableResult
  func receive() -> [UInt8] { Self.receive(from: descriptor) }

  static func receive(from descriptor: Int32) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
    return Array(buffer.prefix(max(0, count)))
  }
}
