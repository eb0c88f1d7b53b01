import Glibc
import HoldfastCore
import HoldfastTestKit
import Testing

@testable import HoldfastServerSockets

struct `Parts of the sockets` {
  @Test func `a Unix domain socket whose server does not accept is not abandoned`() throws {
    let scratch = try Scratch()
    defer { withExtendedLifetime(scratch) {} }
    let path = scratch("busy.sock")
    let address = try #require(SocketAddress(path: path))
    let listener = try Listener(path: path, .metrics)
    // The first of these connections fills the queue, and a further one would wait for its turn.
    #expect(listen(listener.descriptor, 0) == 0)
    for _ in 0..<3 { #expect(!address.isAbandoned) }
    withExtendedLifetime(listener) {}
  }

  @Test(arguments: 0..<20)
  func `a queue returns its bytes in order through a buffer of any size`(seed: UInt64) {
    var generator = RandomSource(seed: seed)
    var queue = OutgoingQueue()
    var model: [UInt8] = []
    for step in 0..<500 {
      if Bool.random(using: &generator) {
        let bytes = [UInt8](
          repeating: UInt8(truncatingIfNeeded: step), count: .random(in: 0...40, using: &generator))
        queue.append(bytes)
        model += bytes
      } else {
        let size = Int.random(in: 1...100, using: &generator)
        let found = Self.copy(queue, atMost: size)
        #expect(found == Array(model.prefix(size)))
        let taken = Int.random(in: 0...found.count, using: &generator)
        queue.consume(taken)
        model.removeFirst(taken)
      }
      #expect(queue.byteCount == model.count)
      #expect(queue.isEmpty == model.isEmpty)
    }
  }

  /// Takes minutes if each copy visits all chunks.
  @Test func `a long queue is copied and consumed in small parts`() {
    var queue = OutgoingQueue()
    for number in 0..<200_000 { queue.append([UInt8(truncatingIfNeeded: number), 7]) }
    var count = 0
    while !queue.isEmpty {
      let found = Self.copy(queue, atMost: 16)
      count += found.count
      queue.consume(found.count)
    }
    #expect(count == 400_000)
  }

  private static func copy(_ queue: OutgoingQueue, atMost size: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = unsafe queue.copy(into: UnsafeMutableRawBufferPointer(buffer)) ?? 0
    }
  }

  @Test(arguments: [(1, true), (2, true), (3, false)])
  func `the connection limit of an address is enforced`(count: Int, isLetIn: Bool) {
    let (here, there) = ("7f000001", "7f000002")
    var limit = ConnectionLimit(bound: 2)
    #expect((1...count).map { _ in limit.enter(here) }.last == isLetIn)
    let other = limit.enter(there)
    #expect(other)
    limit.leave(here)
    let next = limit.enter(here)
    #expect(next)
  }

  @Test(arguments: [
    ("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6"), ("fe80::1%lo", "fe80::1"), ("::1", "::1"),
  ])
  func `the address of a socket has neither a port nor a zone`(text: String, wanted: String) throws
  {
    let address = try #require(try SocketAddress.resolve(text, port: 1).first?.address)
    #expect(address == NetworkAddress(wanted))
  }

  @Test func `a loop runs jobs in order on one thread despite many wake-ups`() async throws {
    try await SocketsRig.run { rig in
      let (order, continuation) = AsyncStream<Int>.makeStream()
      await withTaskGroup { group in
        for _ in 0..<4 {
          group.addTask {
            for _ in 0..<200 { await rig.server.run { _, _ in } }
          }
        }
        for index in 0..<1000 { rig.server.inject { _, _ in continuation.yield(index) } }
      }
      var expected = 0
      for await index in order {
        #expect(index == expected)
        expected += 1
        if expected == 1000 { break }
      }
    }
  }
}
