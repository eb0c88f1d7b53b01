import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Testing

/// Tests behind a proxy that injects faults, which hold for every dialer.
@Suite(.timeLimit(.minutes(60)))
struct FaultTests {
  private static func opened(_ proxy: FaultProxy) async throws -> Opened {
    let socket = await Opened(try newDialer(), .to("ws://127.0.0.1:\(proxy.port)/socket"))
    guard case .opened = await socket.next() else { throw LinkFailure.ended }
    return socket
  }

  @Test(arguments: [(Fault.cut, [LinkFailure.ended]), (.reset, [.reset, .ended])])
  func `a lost connection is reported once, and a new one opens`(
    fault: Fault, failures: [LinkFailure]
  ) async throws {
    let server = try SocketTests.echo()
    let proxy = try FaultProxy(upstream: server.listener.port)
    let socket = try await Self.opened(proxy)
    try await proxy.set(fault)
    try await proxy.set(.pass)
    guard case .failed(let failure) = await socket.next() else {
      Issue.record("not failed")
      return
    }
    #expect(failures.contains(failure))
    let again = try await Self.opened(proxy)
    #expect(await again.handle.send(text: [0x61]) == .queued)
    #expect(await again.next() == .text([0x61]))
    #expect(await socket.next() == nil)
  }

  @Test func `a refused connection is refused, and a silent one times out`() async throws {
    let server = try SocketTests.echo()
    let proxy = try FaultProxy(upstream: server.listener.port)
    let url = "ws://127.0.0.1:\(proxy.port)/socket"
    try await proxy.set(.refuse)
    #expect(await Opened(try newDialer(), .to(url)).next() == .failed(.refused))
    try await proxy.set(.blackhole())
    let silent = try await timeout(in: .upgrade) { limit in
      await Opened(try newDialer(), .to(url, openTimeout: limit)).failure()
    }
    #expect(silent == .timeout(.upgrade))
    try await proxy.set(.blackhole(Blackhole(connects: .hang)))
    let hanging = try await timeout(in: .connect) { limit in
      await Opened(try newDialer(), .to(url, openTimeout: limit)).failure()
    }
    #expect(hanging == .timeout(.connect))
  }

  @Test func `messages survive a silence and a slow link`() async throws {
    let server = try SocketTests.echo()
    let proxy = try FaultProxy(upstream: server.listener.port)
    let socket = try await Self.opened(proxy)
    try await proxy.set(.blackhole())
    for byte in UInt8(0)..<10 { #expect(await socket.handle.send(text: [byte]) == .queued) }
    try await proxy.set(.rate(bytesPerSecond: 2_000))
    for byte in UInt8(0)..<10 { #expect(await socket.next() == .text([byte])) }
  }

  @Test func `a slow network delays messages and keeps their order`() async throws {
    let server = try SocketTests.echo()
    let proxy = try FaultProxy(upstream: server.listener.port)
    let socket = try await Self.opened(proxy)
    try await proxy.set(.delay(.milliseconds(30)))
    for byte in UInt8(0)..<10 { #expect(await socket.handle.send(text: [byte]) == .queued) }
    for byte in UInt8(0)..<10 { #expect(await socket.next() == .text([byte])) }
  }

  @Test func `bytes that are lost on the way to the server leave the socket open`() async throws {
    let server = try SocketTests.echo()
    let proxy = try FaultProxy(upstream: server.listener.port)
    let socket = try await Self.opened(proxy)
    try await proxy.set(.blackhole(Blackhole(reach: .up, fate: .swallowed)))
    #expect(await socket.handle.send(text: [0x61]) == .queued)
    _ = await proxy.traffic(reaches: { $0.bytesUp > 0 })
    try await proxy.set(.cut)
    #expect(await socket.next() == .failed(.ended))
  }

  @Test(arguments: 0..<24)
  func `a stream that ends within a frame reports no part of the message`(bytes: Int) async throws {
    let server = try SocketTests.echo()
    let proxy = try FaultProxy(upstream: server.listener.port)
    let socket = try await Self.opened(proxy)
    try await proxy.set(.cutAfter(bytes: bytes))
    let text = Array("twenty bytes of text".utf8)
    // Without a byte left, the connection ends at once.
    let sending = await socket.handle.send(text: text)
    #expect(sending == .queued || bytes == 0)
    // A frame of this text has 22 bytes.
    if bytes >= 22 { #expect(await socket.next() == .text(text)) }
    if bytes >= 22 { try await proxy.set(.cut) }
    #expect(await socket.next() == .failed(.ended))
  }
}
