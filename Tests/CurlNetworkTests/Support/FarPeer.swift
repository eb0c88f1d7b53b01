import Dispatch
import HoldfastProtocols
import HoldfastTestKit
import Synchronization

/// The server's end of a WebSocket that a contract suite controls.
actor FarPeer: FarSocket {
  private let peer: Peer
  private let head: HTTPRequestHead
  private let actions = Mailbox<ClientAction>()

  private init(_ peer: sending Peer, _ head: HTTPRequestHead) {
    self.peer = peer
    self.head = head
  }

  /// Returns a server that adds each requested upgrade to `sockets`.
  static func server(_ sockets: Mailbox<FarPeer>) throws -> TestServer {
    try TestServer { peer in
      guard let (head, _) = peer.request() else { return }
      let descriptor = peer.descriptor
      let far = FarPeer(peer, head)
      let (chunks, sink) = AsyncStream.makeStream(of: [UInt8].self)
      // The task keeps a reference to the socket, so that the descriptor stays open while the
      // thread reads from it.
      Task {
        for await chunk in chunks { await far.take(chunk) }
        await far.end()
      }
      sockets.put(far)
      while case let chunk = Peer.receive(from: descriptor), !chunk.isEmpty { sink.yield(chunk) }
      sink.finish()
    }
  }

  func accept(headers: [String: String]) {
    peer.upgrade(head, headers: headers.sorted { $0.key < $1.key })
  }

  func reject(status: Int) {
    peer.answer(status, keepAlive: false)
    peer.shut()
  }

  func send(text: [UInt8]) {
    peer.send(String(decoding: text, as: UTF8.self))
  }

  func send(binary: [UInt8]) {
    peer.send(binary: binary)
  }

  func ping() {
    peer.ping("")
  }

  func close(code: UInt16, reason: String) {
    peer.close(code, reason)
  }

  func drop() {
    peer.shut()
  }

  func received() async -> ClientAction? {
    await actions.next()
  }

  private func take(_ bytes: [UInt8]) {
    for event in peer.take(bytes) {
      switch event {
      case .text(let text): actions.put(.text(text))
      case .binary(let bytes): actions.put(.binary(bytes))
      case .ping(let payload): actions.put(.ping(id: Self.number(payload)))
      case .closed(let code, let reason):
        actions.put(.closed(code: code, reason: reason))
        actions.close()
        peer.shut()
      case .pong, .oversized, .failed, .ended: break
      }
    }
  }

  private func end() {
    actions.put(.dropped)
    actions.close()
  }

  private static func number(_ payload: [UInt8]) -> UInt64? {
    payload.count == 8 ? payload.reduce(0) { $0 << 8 | UInt64($1) } : nil
  }
}

/// A request to a test server that a contract suite answers.
final class FarRequest: FarExchange {
  let received: (method: String, headers: [String: String], body: [UInt8])
  private let orders = Mutex<[Order]>([])
  private let ordered = DispatchSemaphore(value: 0)

  private enum Order {
    case answer(Int, [(String, String)], [UInt8])
    case drop
  }

  private init(_ head: HTTPRequestHead, _ body: [UInt8]) {
    let headers = Dictionary(head.headers.map { ($0.name, $0.value) }) { "\($0), \($1)" }
    received = (head.method, headers, body)
  }

  /// Returns a server that adds each request to `requests` and waits until it is answered or
  /// dropped.
  ///
  /// - Parameter keepAlive: Whether a connection stays open after an answer.
  static func server(
    _ requests: Mailbox<FarRequest>, keepAlive: Bool = true
  ) throws -> TestServer {
    try TestServer { peer in
      while let (head, body) = peer.request() {
        let request = FarRequest(head, body)
        requests.put(request)
        switch request.next() {
        case .answer(let status, let headers, let body):
          peer.answer(status, headers, body: body, keepAlive: keepAlive)
          guard keepAlive else { return }
        case .drop: return
        }
      }
    }
  }

  func respond(status: Int, headers: [String: String], body: [UInt8]) {
    give(.answer(status, headers.sorted { $0.key < $1.key }, body))
  }

  func drop() {
    give(.drop)
  }

  private func give(_ order: Order) {
    orders.withLock { $0.append(order) }
    ordered.signal()
  }

  /// Waits for the next order. This runs on the connection's own thread.
  private func next() -> Order {
    ordered.wait()
    return orders.withLock { $0.removeFirst() }
  }
}
