import Glibc
import HoldfastCore
import HoldfastProtocols
import HoldfastTestKit
import Testing

@testable import HoldfastServerSockets

@Suite(.offThePool, .timeLimit(.minutes(60)))
struct `Sockets send files` {
  /// More than the kernel queues for a client that does not read.
  private static let size = 6_000_000

  private static let content: [UInt8] = {
    let part = (0..<997).map { UInt8(97 + $0 * $0 % 26) }
    var all: [UInt8] = []
    while all.count < size { all += part }
    return Array(all.prefix(size))
  }()

  private static func text(_ range: Range<Int>) -> String {
    String(decoding: content[range], as: UTF8.self)
  }

  /// Answers `/first-last` with these bytes of a file.
  private static func answer(_ path: String) -> SocketsHandler.Answer {
    { event, hub in
      guard case .request(let id, let head, _) = event else { return }
      let bounds = head.path.dropFirst().split(separator: "-").compactMap { Int($0) }
      guard bounds.count == 2 else { return }
      let file = FileBody(owning: unsafe open(path, O_RDONLY | O_CLOEXEC), bounds[0]..<bounds[1])
      hub.respond(to: id, status: 200, headers: [("X", "y")], body: [], file: file)
    }
  }

  /// Runs `body` against a server with the file `content`.
  private static func run(
    _ configure: (inout SocketServerConfiguration) -> Void = { _ in },
    _ body: (SocketsRig, Scratch) async throws -> Void
  ) async throws {
    let scratch = try Scratch()
    try scratch.write(content, to: "content")
    try await SocketsRig.run(configure, answer: answer(scratch("content"))) { rig in
      try await body(rig, scratch)
    }
  }

  @Test func `sends a part of a file with its length, and then serves the next request`()
    async throws
  {
    try await Self.run { rig, _ in
      let client = try rig.client()
      for range in [0..<Self.size, 0..<0, 5..<6, (Self.size - 1)..<Self.size, 65_535..<131_073] {
        let response = try client.get("/\(range.lowerBound)-\(range.upperBound)")
        #expect(response.status == 200)
        #expect(response.headers["content-length"] == "\(range.count)")
        #expect(response.headers["x"] == "y")
        #expect(response.body == Self.text(range))
      }
    }
  }

  @Test func `answers HEAD with the length of a file`() async throws {
    try await Self.run { rig, _ in
      let client = try rig.client()
      try client.send("HEAD /0-\(Self.size) HTTP/1.1\r\nHost: test\r\n\r\n")
      #expect(try client.response(toHead: true).headers["content-length"] == "\(Self.size)")
      #expect(try client.get("/1-3").body == Self.text(1..<3))
    }
  }

  /// Asks for the whole file, and waits until the client's window is full.
  private static func stall(_ rig: SocketsRig) async throws -> SocketsClient {
    let client = try rig.client(receiveBuffer: 4_096)
    try client.send("GET /0-\(Self.size) HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
    while await rig.server.run({ _, hub in hub.connections.first?.isBackedUp }) != true {
      await Task.yield()
    }
    return client
  }

  @Test func `a slow client holds no memory, and has time for each piece`() async throws {
    try await Self.run { rig, _ in
      let client = try await Self.stall(rig)
      let before = await rig.server.run { _, hub in hub.connections.first?.deadline }
      let queued = await rig.server.run { _, hub in hub.connections.first?.outgoing.byteCount }
      #expect(queued == 0)
      let first = try #require(before)
      #expect(try client.response().body == Self.text(0..<Self.size))
      // Later pieces moved the deadline, or the response has ended.
      let after = await rig.server.run { _, hub in hub.connections.first?.deadline }
      #expect(after != first)
    }
  }

  @Test func `a file that becomes shorter ends the connection`() async throws {
    try await Self.run { rig, scratch in
      let client = try await Self.stall(rig)
      let isCut = unsafe truncate(scratch("content"), 0) == 0
      #expect(isCut)
      #expect(try client.readToEnd() < Self.size)
    }
  }

  @Test func `a file that was removed is sent to the end`() async throws {
    try await Self.run { rig, scratch in
      let client = try await Self.stall(rig)
      let isRemoved = unsafe unlink(scratch("content")) == 0
      #expect(isRemoved)
      #expect(try client.response().body == Self.text(0..<Self.size))
    }
  }

  @Test func `sends a file over TLS to a client that is slow at first`() async throws {
    let certificate = try await SelfSigned()
    try await Self.run {
      $0.tls = TLSFiles(certificatePath: certificate.chain, keyPath: certificate.key)
    } _: { rig, scratch in
      let same = try await Shell.run([
        "python3", "-W", "ignore", "-c",
        """
        import os, socket, ssl, sys
        port, chain, path = sys.argv[1:]
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(('127.0.0.1', int(port)))
        s = ssl.create_default_context(cafile=chain).wrap_socket(raw, server_hostname='localhost')
        s.sendall(b'GET /0-%d HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n' % os.path.getsize(path))
        data = b''
        while True:
          more = s.recv(10000)
          if not more: break
          data += more
        print(data.split(b'\\r\\n\\r\\n', 1)[1] == open(path, 'rb').read())
        """, "\(rig.port)", certificate.chain, scratch("content"),
      ])
      #expect(same == "True\n")
    }
  }

  @Test(arguments: 0..<20)
  func `a queue returns its bytes and then those of a file`(seed: UInt64) throws {
    let scratch = try Scratch()
    try scratch.write(Self.content, to: "content")
    var generator = RandomSource(seed: seed)
    let start = Int.random(in: 0..<1_000, using: &generator)
    let range = start..<(start + Int.random(in: 0..<1_000, using: &generator))
    let descriptor = unsafe open(scratch("content"), O_RDONLY | O_CLOEXEC)
    let file = FileBody(owning: descriptor, range)
    #expect(file.load())
    var queue = OutgoingQueue()
    var model = Array("head".utf8)
    queue.append(model)
    queue.append(file)
    model += Self.content[range]
    while !queue.isEmpty {
      let size = Int.random(in: 1...200, using: &generator)
      let found = try #require(Self.copy(queue, atMost: size))
      #expect(found == Array(model.prefix(size)))
      let taken = Int.random(in: 0...found.count, using: &generator)
      queue.consume(taken)
      model.removeFirst(taken)
    }
    #expect(model == [])
  }

  private static func copy(_ queue: OutgoingQueue, atMost size: Int) -> [UInt8]? {
    var isRead = true
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let copied = unsafe queue.copy(into: UnsafeMutableRawBufferPointer(buffer))
      (count, isRead) = (copied ?? 0, copied != nil)
    }
    return isRead ? bytes : nil
  }

  @Test(arguments: [-1, 0, 1])
  func `a part beyond the end of a file cannot be loaded`(excess: Int) throws {
    let scratch = try Scratch()
    try scratch.write(Self.content, to: "content")
    let descriptor = unsafe open(scratch("content"), O_RDONLY | O_CLOEXEC)
    #expect(FileBody(owning: descriptor, 9..<(Self.size + excess)).load() == (excess <= 0))
  }
}
