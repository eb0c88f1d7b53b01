import CHoldfastLinux
import Dispatch
import Glibc
import HoldfastTestKit
import Testing

@testable import HoldfastServerSockets

/// A test of the end of a passed response, at the moment at which the client makes room.
@Suite(.offThePool, .timeLimit(.minutes(60)))
struct `Sockets pass the end of a response on` {
  /// One connection of a server that is only a socket.
  private final class BareServer: Sendable {
    private let listener: Int32
    let endpoint: SocketEndpoint

    init() throws {
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let port = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw -> UInt16? in
          guard unsafe bind(listener, raw, length) == 0, listen(listener, 1) == 0,
            unsafe getsockname(listener, raw, &length) == 0
          else { return nil }
          return UInt16(bigEndian: unsafe pointer.pointee.sin_port)
        }
      }
      self.listener = listener
      let bound = try #require(port)
      endpoint = try #require(SocketEndpoint("127.0.0.1:\(bound)"))
    }

    deinit { close(listener) }

    /// Accepts a connection, and reads until the other side has sent its last byte.
    func acceptAndRead() -> Int32 {
      let connection = accept(listener, nil, nil)
      var chunk = [UInt8](repeating: 0, count: 4_096)
      while unsafe recv(connection, &chunk, chunk.count, 0) > 0 {}
      return connection
    }
  }

  private static func send(_ bytes: [UInt8], _ connection: Int32) -> Int {
    unsafe Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  /// Lets the loop of a server stand until `body` has ended, and all of its activity lies ready.
  private static func standing(_ rig: SocketsRig, _ body: () throws -> Void) rethrows {
    let (stands, goes) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    rig.server.inject { _, _ in
      stands.signal()
      goes.wait()
    }
    stands.wait()
    defer { goes.signal() }
    try body()
  }

  private func isHeldBack(_ rig: SocketsRig) async -> Bool {
    await rig.server.run { _, hub in
      hub.connections.contains {
        if case .passing(let passage) = $0.phase { passage.isHeldBack } else { false }
      }
    }
  }

  @Test func `a server that ends while its client makes room is read to the end`() async throws {
    let bare = try BareServer()
    let endpoint = bare.endpoint
    let answer: SocketsHandler.Answer = { event, hub in
      guard case .request(let id, _, _) = event else { return }
      hub.pass(
        id, to: endpoint, Array("GET / HTTP/1.1\r\n\r\n".utf8), within: .seconds(3_600),
        orAnswer: [], afterSending: [])
    }
    try await SocketsRig.run(answer: answer) { front in
      let client = try front.client(receiveBuffer: 65_536)
      try client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      client.shutWriting()
      let node = bare.acceptAndRead()
      let piece = [UInt8](repeating: 7, count: 16_384)
      var sent = 0
      while await !isHeldBack(front) { sent += Self.send(piece, node) }
      var received = 0
      try Self.standing(front) {
        received += try client.readAvailable()
        sent += Self.send(piece, node)
        close(node)
      }
      received += try client.readToEnd()
      #expect(received == sent)
    }
  }
}
