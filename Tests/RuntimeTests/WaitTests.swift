import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Testing

/// Tests of the limits of waits, and of the texts that explain what the client waits for.
@Suite(.timeLimit(.minutes(60)))
struct WaitTests {
  private let clock = TestClock()
  private let network: FakeNetwork
  private let request = SocketRequest(
    url: "ws://a", openTimeout: .seconds(5), maxMessageBytes: 10)

  init() { network = FakeNetwork(clock: clock) }

  @Test
  func `a wait for a socket names the client's next deadline`() async throws {
    let client = Task { [clock] in try? await clock.wait(until: .second(3.2)) }
    await clock.someoneWaits(for: .second(3.2))
    let failure = await #expect(throws: WaitFailure.self) {
      try await network.nextSocket(within: .milliseconds(1))
    }
    #expect(failure?.reason == .timeLimit(.milliseconds(1)))
    #expect(failure?.hints.first?.contains("until 3.2 s from now: advance the clock") == true)
    client.cancel()
  }

  @Test
  func `a wait for an action names the open sockets and what is unread`() async throws {
    let handle = await network.open(request) { _ in }
    let waiting = await #expect(throws: WaitFailure.self) {
      try await network.nextExchange(within: .milliseconds(1))
    }
    #expect(waiting?.hints.contains("The socket to ws://a is not accepted yet.") == true)
    let socket = try await network.nextSocket(within: .seconds(60)).accepted()
    await handle.send(text: Array("hello".utf8))
    let open = await #expect(throws: WaitFailure.self) {
      try await network.nextSocket(within: .milliseconds(1))
    }
    #expect(
      open?.hints == [
        "Nothing waits for the test clock.", "The socket to ws://a is open; unread actions: 1.",
      ])
    #expect(try await socket.nextAction().text == "hello")
    await handle.close(code: 1000, reason: "")
    #expect(try await socket.nextAction() == .closed(code: 1000, reason: ""))
    let ended = await #expect(throws: WaitFailure.self) { try await socket.nextAction() }
    #expect(ended?.reason == .closed)
    let next = await #expect(throws: WaitFailure.self) {
      try await network.nextSocket(within: .milliseconds(1))
    }
    #expect(next?.description.contains("it was closed, or it has failed") == true)
  }

  @Test
  func `advancing passes each wait and stops when the client acts on a socket, or has ended it`()
    async throws
  {
    let client = Task { [clock, network, request] in
      let handle = await network.open(request) { _ in }
      for second in [3.0, 4] { try? await clock.wait(until: .second(second)) }
      await handle.close(code: 1001, reason: "")
    }
    // A socket that is accepted has no deadline of its own.
    let socket = try await network.nextSocket().accepted()
    #expect(try await socket.nextAction(advancing: clock) == .closed(code: 1001, reason: ""))
    #expect(clock.now == .second(4))
    await client.value
    let failure = await #expect(throws: WaitFailure.self) {
      try await socket.nextAction(advancing: clock)
    }
    #expect(failure?.reason == .closed)
  }

  @Test
  func `advancing passes each wait and stops when the client opens a socket`() async throws {
    let client = Task { [clock, network, request] in
      for second in [3.0, 7] { try? await clock.wait(until: .second(second)) }
      let handle = await network.open(request) { _ in }
      try? await clock.wait(until: .second(8))
      await handle.close(code: 1000, reason: "")
    }
    let socket = try await network.nextSocket(advancing: clock)
    #expect(clock.now == .second(7))
    #expect(socket.request.url == "ws://a")
    client.cancel()
  }

  @Test
  func `advancing ends at a client that only waits again and again`() async throws {
    let client = Task { [clock] in
      while (try? await clock.wait(until: clock.now.advanced(by: .seconds(25)))) != nil {}
    }
    let failure = await #expect(throws: WaitFailure.self) {
      try await network.nextSocket(advancing: clock, within: .seconds(300))
    }
    #expect(failure?.reason == .deadlines(100))
    #expect(clock.now == .second(2500))
    client.cancel()
  }

  @Test
  func `advancing without a deadline ends at the limit`() async throws {
    let failure = await #expect(throws: WaitFailure.self) {
      try await network.nextSocket(advancing: clock, within: .milliseconds(1))
    }
    #expect(failure?.reason == .timeLimit(.milliseconds(1)))
    #expect(failure?.hints == ["Nothing waits for the test clock."])
  }

  @Test
  func `a cancelled wait ends`() async throws {
    let mailbox = Mailbox<Int>()
    let reader = Task { try await mailbox.next(within: .seconds(300)) }
    reader.cancel()
    let failure = await #expect(throws: WaitFailure.self) { try await reader.value }
    #expect(failure?.reason == .cancelled)
  }

  @Test
  func `a value that arrives within the limit is returned, and a closed mailbox ends the wait`()
    async throws
  {
    let mailbox = Mailbox<Int>(of: "a number")
    let reader = Task { try await mailbox.next(within: .seconds(300)) }
    mailbox.put(1)
    #expect(try await reader.value == 1)
    mailbox.close()
    let failure = await #expect(throws: WaitFailure.self) {
      try await mailbox.next(within: .seconds(300))
    }
    #expect(failure?.description == "Waited for a number: nothing can arrive any more.")
  }
}
