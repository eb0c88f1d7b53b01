import CHoldfastLinux
import Glibc
import HoldfastCore
import HoldfastMessageData
import HoldfastServerSockets
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of a backend whose sockets were opened by another program, such as systemd.
@Suite(.timeLimit(.minutes(60))) struct InheritedSocketsTests {
  /// A socket that listens, of which a backend gets a copy.
  private final class Opened: Sendable {
    let descriptor: Int32

    init(everywhere: Bool = false) throws {
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(everywhere ? 0 : 0x7f00_0001).bigEndian
      let result = unsafe withUnsafePointer(to: address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      try #require(result == 0 && listen(descriptor, SOMAXCONN) == 0)
    }

    deinit {
      close(descriptor)
    }

    func passed(as name: String = "clients") -> BackendConfiguration.PassedSocket {
      .init(descriptor: fcntl(descriptor, F_DUPFD_CLOEXEC, 0), name: name)
    }
  }

  @Test(arguments: ["clients", "unknown", "", "holdfast.socket"])
  func `a socket for clients replaces the address`(name: String) async throws {
    let opened = try Opened()
    try await BackendRig.run {
      $0.host = "192.0.2.1"
      try? $0.inherit(opened.passed(as: name))
    } _: { rig in
      #expect(rig.configuration.host == "127.0.0.1")
      #expect(rig.address.listensOn == "http://127.0.0.1:\(rig.address.port)")
      #expect(!rig.address.isExposed)
      let health = try await rig.client().ask("GET", "/healthz")
      #expect(health.status == 200)
      await rig.backend.kill()
      #expect(
        rig.lines.all.contains {
          $0.contains(#""event":"inherited""#) && $0.contains("1 for clients")
        })
    }
  }

  @Test func `the host is this machine's own only if all sockets for clients are`() throws {
    let (here, everywhere) = (try Opened(), try Opened(everywhere: true))
    for order in [[here, everywhere], [everywhere, here]] {
      var configuration = BackendConfiguration(dataDirectory: "")
      for socket in order { try configuration.inherit(socket.passed()) }
      #expect(configuration.host == "0.0.0.0")
      #expect(configuration.inherited.clients.count == 2)
    }
  }

  @Test func `names tell the purpose, and those without a meaning are refused`() throws {
    var sockets = InheritedSockets()
    try sockets.add(10, named: "metrics")
    try sockets.add(11, named: "admin")
    #expect(sockets.clients.isEmpty)
    #expect(sockets.others == [.metrics: 10, .admin: 11])
    #expect(sockets.summary.hasSuffix(": 1 for admin, 1 for metrics"))
    for name in ["metrics", "admin", "metric", "Clients", "nodes"] {
      #expect(throws: BackendError.self) { try sockets.add(12, named: name) }
    }
  }

  @Test func `a socket for clients that is not one of TCP is refused`() throws {
    let other = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(other) }
    var configuration = BackendConfiguration(dataDirectory: "")
    #expect(throws: BackendError.self) {
      try configuration.inherit(.init(descriptor: other, name: "clients"))
    }
  }

  @Test func `a socket of TCP for operators needs an address for them and a token`() throws {
    let opened = try Opened()
    let unix = try AdminAddress("unix:/run/admin.sock")
    let addresses: [(AdminAddress?, Bool)] = [
      (nil, false), (unix, false),
      (try AdminAddress("unix:/run/admin.sock", tokenFile: "token"), true),
      (try AdminAddress("127.0.0.1:8789", tokenFile: "token"), true),
    ]
    for (address, isUsable) in addresses {
      var configuration = BackendConfiguration(dataDirectory: "")
      configuration.admin = address
      let isTaken = (try? configuration.inherit(opened.passed(as: "admin"))) != nil
      #expect(isTaken == isUsable)
    }
    // A Unix socket shows the user at its other end, so it needs no token.
    let other = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(other) }
    var configuration = BackendConfiguration(dataDirectory: "")
    configuration.admin = unix
    try configuration.inherit(.init(descriptor: other, name: "admin"))
  }

  @Test func `a connection that begins during a drain is served by the next backend`() async throws
  {
    let opened = try Opened()
    let scratch = try Scratch()
    var waiting: BackendClient?
    try await BackendRig.run(in: scratch("data")) {
      try? $0.inherit(opened.passed())
    } _: { rig in
      let follower = try await rig.follower()
      async let drained: Void = rig.backend.drainAndStop()
      #expect(try await follower.message() == .draining(within: .seconds(5)))
      waiting = try rig.client()
      #expect(try await follower.close() == .close(1001, "draining within_ms=5000"))
      try await follower.answerClose(1001)
      await drained
    }
    try await BackendRig.run(in: scratch("data")) {
      try? $0.inherit(opened.passed())
    } _: { _ in
      let health = try await waiting?.ask("GET", "/healthz")
      #expect(health?.status == 200)
    }
  }

  @Test func `a backend whose loop is busy shows no sign of life until it turns`() async throws {
    try await BackendRig.run { rig in
      try await rig.backend.turn()
      let (entered, entry) = AsyncStream.makeStream(of: Void.self)
      let (gate, order) = (Gate(), LineLog())
      try await rig.backend.sockets().inject { _, _ in
        entry.yield()
        gate.wait()
      }
      for await _ in entered { break }
      let turned = Task {
        try await rig.backend.turn()
        order.append("turned")
      }
      order.append("opened")
      gate.open()
      try await turned.value
      #expect(order.all == ["opened", "turned"])
      await rig.backend.kill()
      await #expect(throws: BackendError.notRunning) { try await rig.backend.turn() }
    }
  }
}

/// A gate at which a thread waits until it is opened.
private final class Gate: Sendable {
  private let ends: [Int32]

  init() {
    var made: [Int32] = [0, 0]
    unsafe pipe2(&made, Int32(O_CLOEXEC))
    ends = made
  }

  deinit {
    for end in ends { close(end) }
  }

  func wait() {
    var waiting = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
    unsafe poll(&waiting, 1, -1)
  }

  func open() {
    unsafe write(ends[1], "x", 1)
  }
}
