import Holdfast
import HoldfastTestKit
import Testing

@testable import CornerCore

@Suite struct BoardTests {
  let clock = TestClock()
  let network: FakeNetwork

  init() { network = FakeNetwork(clock: clock) }

  func open(after position: Int? = nil) async throws -> HeldSocket {
    try await board(
      "wss://board.example/", topics: ["bread"], after: position, tokens: .fixed("t"),
      outbox: .memory,
      ports: DevicePorts(network: network, reachability: FakeReachability(), clock: clock))
  }

  /// Accepts a connection, and returns the position that the client subscribed after.
  func welcome(_ socket: FakeSocket) async throws -> Int? {
    await socket.accept()
    #expect(try await op(socket).token == "t")
    await socket.send(#"{"op":"welcome"}"#)
    return try await op(socket).after
  }

  func op(_ socket: FakeSocket) async throws -> BoardMessage {
    try #require(BoardMessage(.text(try await socket.nextText())))
  }

  @Test func `a board resumes after its last line, and shows each line once`() async throws {
    let board = try await open(after: 7)
    let first = try await network.nextSocket()
    #expect(try await welcome(first) == 7)
    await first.send(#"{"op":"line","seq":8,"topic":"bread","text":"rye"}"#)
    await first.drop()
    let second = try await network.nextSocket(advancing: clock)
    #expect(try await welcome(second) == 8)
    for seq in [8, 9] {
      await second.send(#"{"op":"line","seq":\#(seq),"topic":"bread","text":"rye"}"#)
    }
    var shown: [Int] = []
    try await board.follow(after: 7) { line in
      if case .price(_, _, let seq) = line { shown.append(seq) }
      return shown.last != 9
    }
    #expect(shown == [8, 9])
    await board.close()
  }

  @Test func `an order is sent again after the program of the server fell silent`() async throws {
    let board = try await open()
    let first = try await network.nextSocket()
    first.answerPings(false)
    _ = try await welcome(first)
    try await board.order("two rye", id: "1")
    #expect(try await op(first).id == "1")
    let second = try await network.nextSocket(advancing: clock)
    _ = try await welcome(second)
    #expect(try await op(second).id == "1")
    await board.close()
  }
}
