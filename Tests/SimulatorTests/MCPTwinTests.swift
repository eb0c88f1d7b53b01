import LinkCore
import LinkServerCore
import LinkWire
import Testing

@testable import LinkSimulator

/// The second account of the server of assistants.
@Suite struct MCPTwinTests {
  private var house: MCPHouse { MCPHouse(MCPHouse.Numbers(), at: .zero) }

  private func post(_ body: String) -> MCPServer.Input {
    var call = MCPCall(.post, .mcp, body: Array(body.utf8))
    call.fields.host = "localhost"
    call.fields.contentType = "application/json"
    let fresh = MCPSessionID(random: [UInt8](repeating: 1, count: 16))
    return .request(RequestID(1), call, fresh: fresh)
  }

  private static func body(_ effects: [MCPServer.Effect]) -> String {
    guard case .answer(_, let reply)? = effects.first, effects.count == 1 else { return "" }
    return "\(reply.status) " + String(decoding: reply.body, as: UTF8.self)
  }

  private static let missing =
    #"400 {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"#
    + #""message":"Missing session: initialize first"}}"#
  private static let nameless =
    #"400 {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"#
    + #""message":"Invalid request: method is missing"}}"#

  @Test(arguments: [
    (#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, missing),
    (#"{"jsonrpc":"2.0","id":7}"#, nameless),
  ])
  func `the account answers messages without a session`(body: String, answer: String) {
    var house = house
    #expect(Self.body(house.step(post(body), at: .zero)) == answer)
  }

  @Test func `the account forgets a session that is not used`() {
    var house = house
    let body =
      #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#
    let told = Self.body(house.step(post(body), at: .zero))
    let begin = #"200 {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26""#
    #expect(told.hasPrefix(begin))
    let end = Instant.zero.advanced(by: .seconds(7_200))
    #expect(house.deadline == end)
    #expect(house.step(nil, at: end).isEmpty)
    #expect(house.deadline == nil)
  }

  @Test func `the account lets in whom the doors let in`() {
    var numbers = MCPHouse.Numbers()
    #expect(numbers.admits(host: "[::1]:80"))
    #expect(!numbers.admits(host: "relay.example"))
    #expect(!numbers.admits(host: nil))
    numbers.isNamed = true
    #expect(numbers.admits(host: "relay.example:443"))
    #expect(!numbers.admits(origin: "https://app.example"))
    numbers.letsPageIn = true
    #expect(numbers.admits(origin: "https://app.example"))
  }

  @Test func `a server that asks for less than it must is found`() {
    var house = house
    let server = MCPServer(policy: MCPPolicy(), at: .zero)
    let input = post(#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#)
    let stray = house.stray(of: server, after: input, [], at: .zero)
    #expect(stray?.hasPrefix("the assistants' server asks for nothing, and must for") == true)
  }

  @Test func `a walk finds a server that waits, counts or names otherwise`() throws {
    let input = post(
      #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#)
    var numbers = MCPHouse.Numbers()
    numbers.idle += .seconds(1)
    let (usual, other) = (house, MCPHouse(numbers, at: .zero))
    func finding(
      beside house: MCPHouse, _ act: (inout MCPServerWalk) throws -> Void
    ) throws -> String? {
      try MCPServerWalk.finding { walk in
        (walk.server, walk.house) = (MCPServer(policy: MCPPolicy(), at: .zero), house)
        try act(&walk)
      }
    }
    #expect(try finding(beside: usual) { $0.give(input) } == nil)
    let late = try finding(beside: other) { $0.give(input) }
    #expect(late?.hasPrefix("the assistants' server waits until ") == true)
    let miscounted = try finding(beside: usual) { walk in
      _ = walk.server.handle(input, at: .zero)
      walk.stray = walk.walk(0)
    }
    #expect(miscounted != nil)
    try MCPServerWalk.expect(each: [
      (nil, { $0.compareName("0aff", of: [10, 255]) }),
      ("the name of a session", { $0.compareName("aff", of: [10, 255]) }),
    ])
  }
}
