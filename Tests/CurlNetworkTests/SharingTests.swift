import HoldfastCore
import HoldfastPorts
import Testing

@testable import HoldfastCurlNetwork

#if canImport(Glibc)
  import Glibc
#endif

/// Tests of sockets of the same network, which share libcurl's handles.
@Suite(.timeLimit(.minutes(60)))
struct SharingTests {
  @Test(arguments: [31, 32, 33, 70])
  func `a socket that ends does not affect others, and new ones can replace it`(
    count: Int
  ) async throws {
    let server = try SocketTests.echo()
    let network = try CurlNetwork()
    var sockets: [Opened] = []
    for _ in 0..<count { sockets.append(try await opened(network, server)) }
    for (number, socket) in sockets.enumerated() where number % 2 == 0 {
      await socket.handle.close(code: 1000, reason: "")
    }
    for _ in 0..<count { sockets.append(try await opened(network, server)) }
    for (number, socket) in sockets.enumerated() {
      let isOpen = number >= count || number % 2 == 1
      let text = Array("to \(number)".utf8)
      #expect(await socket.handle.send(text: text) == (isOpen ? .queued : .closed))
      guard isOpen else { continue }
      #expect(await socket.next() == .text(text))
    }
  }

  @Test func `a cancelled dial does not affect other sockets`() async throws {
    let (server, silent) = (try SocketTests.echo(), try Listener())
    let network = try CurlNetwork()
    // The kernel accepts the connection, but no TLS handshake follows.
    let waiting = await Opened(network, .to("wss://127.0.0.1:\(silent.port)"))
    let socket = try await opened(network, server)
    await waiting.handle.close(code: 1000, reason: "")
    #expect(await waiting.next() == .failed(.local(detail: "Closed before it opened.")))
    #expect(await socket.handle.send(text: Array("still".utf8)) == .queued)
    #expect(await socket.next() == .text(Array("still".utf8)))
  }

  private func opened(_ network: CurlNetwork, _ server: TestServer) async throws -> Opened {
    let socket = await Opened(network, .to(server.socketURL))
    guard case .opened = await socket.next() else { throw LinkFailure.ended }
    return socket
  }
}

/// Tests of `Poller`, which reports the descriptors that are ready.
@Suite struct PollerTests {
  private let poller: Poller
  private let ends: (read: Int32, write: Int32)

  init() throws {
    poller = try #require(Poller())
    var both: [Int32] = [-1, -1]
    try #require(unsafe pipe(&both) == 0)
    ends = (both[0], both[1])
    _ = fcntl(ends.read, F_SETFL, O_NONBLOCK)
  }

  @Test func `a watched descriptor is reported as long as it is ready`() {
    defer { end() }
    #expect(poller.watch(ends.read, .read, for: .wake))
    #expect(found() == [])
    put()
    #expect(found() == [Found(descriptor: ends.read, readiness: .read)])
    #expect(found() == [Found(descriptor: ends.read, readiness: .read)])
    take()
    #expect(found() == [])
  }

  @Test func `a change of readiness is reported once`() {
    defer { end() }
    #expect(poller.watchChanges(of: ends.read, for: .socket(7)))
    put()
    #expect(found() == [Found(descriptor: ends.read, readiness: .read)])
    #expect(found() == [])
    put()
    #expect(found() == [Found(descriptor: ends.read, readiness: .read)])
    guard case .socket(7) = poller[ends.read] else {
      Issue.record("the descriptor's owner is unknown")
      return
    }
  }

  @Test func `the watched readiness of a descriptor can be changed and removed`() {
    defer { end() }
    #expect(poller.watch(ends.write, .read, for: .wake))
    #expect(found() == [])
    #expect(poller.watch(ends.write, .write, for: .wake))
    #expect(found() == [Found(descriptor: ends.write, readiness: .write)])
    poller.forget(ends.write)
    #expect(found() == [])
    #expect(poller[ends.write] == nil)
    poller.forget(ends.write)
  }

  @Test func `a descriptor whose peer is gone is ready for reading and writing`() {
    _ = close(ends.read)
    #expect(poller.watch(ends.write, .write, for: .wake))
    #expect(found() == [Found(descriptor: ends.write, readiness: [.read, .write])])
    _ = close(ends.write)
  }

  @Test func `a descriptor that cannot be watched is reported`() {
    defer { end() }
    #expect(!poller.watchChanges(of: -1, for: .socket(1)))
    #expect(!poller.watch(-1, .read, for: .wake))
  }

  private struct Found: Equatable {
    var descriptor: Int32
    var readiness: Readiness
  }

  private func found() -> [Found] {
    poller.wait(0).map { Found(descriptor: $0.descriptor, readiness: $0.readiness) }
  }

  private func put() {
    var byte: UInt8 = 1
    _ = unsafe write(ends.write, &byte, 1)
  }

  private func take() {
    var byte: UInt8 = 0
    _ = unsafe read(ends.read, &byte, 1)
  }

  private func end() {
    _ = close(ends.read)
    _ = close(ends.write)
  }
}
