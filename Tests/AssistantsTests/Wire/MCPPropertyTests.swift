import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import HoldfastTestKit
import Testing

@testable import HoldfastAssistants

/// Property tests of MCP messages. Requests have random spellings, and Foundation parses the
/// responses.
@Suite struct MCPPropertyTests {
  private static let prefix = "io.modelcontextprotocol/"

  private func drawID(_ generator: inout RandomSource) -> (RPCID, JSONTree) {
    let (text, number) = (generator.text(upTo: 3), generator.one([Int64.min, -7, 0, .max]))
    return generator.flag() ? (.string(text), .string(text)) : (.number(number), .int(number))
  }

  private static let client = JSONTree.object([
    "name": .string("claude"), "version": .string("1.4.2"),
  ])

  private func params(_ name: String, _ token: JSONTree) -> JSONTree {
    let meta = JSONTree.object([
      "progressToken": token, Self.prefix + "protocolVersion": .string("2026-07-28"),
      Self.prefix + "clientCapabilities": .object([:]), Self.prefix + "clientInfo": Self.client,
    ])
    return .object([
      "name": .string(name), "requestId": token, "protocolVersion": .string("2025-11-25"),
      "clientInfo": Self.client, "_meta": meta,
    ])
  }

  @Test func `a message is read in any spelling, with all its members`() throws {
    var generator = RandomSource(seed: 40)
    for _ in 0..<100 {
      let ((id, idTree), (token, tokenTree)) = (drawID(&generator), drawID(&generator))
      let (method, name, isRequest) = (generator.id(), generator.text(upTo: 3), generator.flag())
      var members: [String: JSONTree] = [
        "jsonrpc": .string("2.0"), "method": .string(method), "params": params(name, tokenTree),
      ]
      if isRequest { members["id"] = idTree }
      let text = JSONTree.object(members).spelled(by: &generator, isExtended: true)
      let found: RPCParams
      switch try RPCMessage.read(Array(text: text)) {
      case .request(let foundID, let foundMethod, let params):
        #expect(foundID == id && foundMethod == method && isRequest)
        found = params
      case .notification(let foundMethod, let params):
        #expect(foundMethod == method && !isRequest)
        found = params
      case .response:
        Issue.record("\(text) is read as a response")
        continue
      }
      let read = MCPParams(found)
      let client = AssistantName("claude", version: "1.4.2")
      #expect(read.name == name && read.requestID == token && read.client == client)
      #expect(read.protocolVersion == "2025-11-25")
      let meta = MCPParams.Meta(
        protocolVersion: "2026-07-28", hasCapabilities: true, progressToken: token,
        client: client)
      #expect(read.meta == meta)
    }
  }

  @Test func `the arguments of a tool are read in any spelling, as sent to phones`() throws {
    var generator = RandomSource(seed: 41)
    for _ in 0..<100 {
      let query = generator.healthQuery()
      // The texts have no extra members, because unknown arguments are refused.
      let text = try JSONTree(query.payload).spelled(by: &generator, isExtended: false)
      #expect(try #require(MCPArguments(Array(text: text))).healthDataQuery() == query)
      let summary = generator.summaryQuery(withRejected: false)
      let other = try JSONTree(summary.payload).spelled(by: &generator, isExtended: false)
      #expect(try #require(MCPArguments(Array(text: other))).summaryQuery() == summary)
      for (name, arguments) in [("get_health_metrics", text), ("get_summary", other)] {
        let call = #"{"name":"\#(name)","arguments":\#(arguments)}"#
        let wrapped = #"{"method":"call_tool","params":\#(call)}"#
        let tool = PlainToolCall.tool(
          name: name, try #require(MCPArguments(Array(text: arguments))))
        #expect(try PlainToolCall.read(Array(text: call)) == tool)
        #expect(try PlainToolCall.read(Array(text: wrapped)) == tool)
      }
    }
  }

  @Test func `damaged bytes are read as a message or refused with an error code`() {
    var generator = RandomSource(seed: 42)
    let text = #"{"jsonrpc":"2.0","id":7,"method":"m","params":{"arguments":{"word":"w"}}}"#
    for _ in 0..<1_000 {
      let bytes = generator.damaged(Array(text: text))
      do throws(RPCMessage.Fault) {
        _ = try RPCMessage.read(bytes)
      } catch {
        #expect([.parse, .invalidRequest].contains(error.error.code))
        #expect((try? JSONTree(error.error.response(to: error.id))) != nil)
      }
      _ = try? PlainToolCall.read(bytes)
      _ = try? RPCMessage.batch(bytes, atMost: 2)
    }
  }

  private static let called = MCPCallResult(
    text: "t\n", structured: Array(text: #"{"a": 1}"#), isError: false)
  /// The `serverInfo` for clients whose version has titles but no icons.
  private static let server =
    #"{"name":"holdfast","title":"Holdfast health data","version":"0.1.0"}"#
  private static let capabilities =
    #"{"tools":{"listChanged":false},"resources":{"subscribe":false,"listChanged":false},"#
    + #""extensions":{"io.modelcontextprotocol/ui":{}}}"#
  /// Results with the content of their responses, in the newest version that has sessions.
  private static let results: [(MCPResult, String)] = [
    (
      .initialized(.june2025),
      #"{"protocolVersion":"2025-06-18","capabilities":\#(capabilities),"#
        + #""instructions":"\#(MCPResult.instructions)","#
        + #""serverInfo":\#(server)}"#
    ),
    (
      .discovered,
      #"{"supportedVersions":["2026-07-28"],"capabilities":\#(capabilities),"#
        + #""instructions":"\#(MCPResult.instructions)"}"#
    ),
    (.pong, "{}"),
    (
      .resources,
      #"{"resources":[{"uri":"ui://holdfast/charts","name":"charts","title":"Charts of an answer","#
        + #""description":"A page for people that draws the answer of get_summary or "#
        + #"get_health_metrics. It holds no health data.","#
        + #""mimeType":"text/html;profile=mcp-app","annotations":{"audience":["user"]},"#
        + #""_meta":{"ui":{"csp":{"connectDomains":[],"resourceDomains":[]},"#
        + #""prefersBorder":true}}}]}"#
    ),
    (.resourceTemplates, #"{"resourceTemplates":[]}"#),
    (
      .called(called),
      #"{"content":[{"type":"text","text":"t\n"}],"structuredContent":{"a":1},"isError":false}"#
    ),
    (
      .inputRequired(MCPElicitation(id: "i", url: "https://b.example/", message: "Go"), state: "s"),
      #"{"inputRequests":{"sign_in":{"method":"elicitation/create","params":{"mode":"url","#
        + #""url":"https://b.example/","message":"Go"}}},"requestState":"s"}"#
    ),
  ]

  @Test(arguments: results)
  func `each result has its members`(result: MCPResult, text: String) throws {
    let members = try JSONTree(Array(text: text)).members
    let version = MCPVersion.november2025
    var response: [String: JSONTree] = ["jsonrpc": .string("2.0"), "id": .string("q\"")]
    response["result"] = .object(members)
    #expect(
      try JSONTree(result.response(to: .string("q\""), in: version)) == .object(response))
    // The version without sessions adds these members, which include the time for which a result
    // may be cached.
    var more = members
    let isComplete = members["inputRequests"] == nil
    more["resultType"] = .string(isComplete ? "complete" : "input_required")
    var server = try JSONTree(Array(text: Self.server)).members
    if result == .discovered {
      server["icons"] = .array([
        .object([
          "src": .string("data:image/png;base64," + MCPResult.icon),
          "mimeType": .string("image/png"), "sizes": .array([.string("32x32")]),
        ])
      ])
    }
    more["_meta"] = .object([Self.prefix + "serverInfo": .object(server)])
    if [.discovered, .resources, .resourceTemplates].contains(result) {
      (more["ttlMs"], more["cacheScope"]) = (.int(0), .string("private"))
    }
    response["result"] = .object(more)
    #expect(
      try JSONTree(result.response(to: .string("q\""), in: .july2026)) == .object(response))
  }

  @Test func `each version receives only the server members that it defines`() throws {
    let names = try MCPVersion.allCases.map { version in
      let response = try JSONTree(
        MCPResult.initialized(version).response(to: .number(1), in: version))
      return response.members["result"]?.members["serverInfo"]?.members.keys.sorted()
    }
    let (oldest, titled) = (["name", "version"], ["name", "title", "version"])
    let all = ["icons", "name", "title", "version"]
    #expect(names == [oldest, oldest, titled, all, all])
  }

  /// The kinds of results, one for each case.
  private enum Kind: CaseIterable {
    case initialized, discovered, pong, tools, resources, resourceTemplates, resource, called
    case inputRequired

    init(_ result: MCPResult) {
      switch result {
      case .initialized: self = .initialized
      case .discovered: self = .discovered
      case .pong: self = .pong
      case .tools: self = .tools
      case .resources: self = .resources
      case .resourceTemplates: self = .resourceTemplates
      case .resource: self = .resource
      case .called: self = .called
      case .inputRequired: self = .inputRequired
      }
    }
  }

  @Test
  func `the table has every result except a page and the list of tools, which names each tool`()
    throws
  {
    let results = Self.results.map(\.0) + [.tools, .resource(.charts)]
    #expect(Set(results.map(Kind.init)) == Set(Kind.allCases))
    let list = try JSONTree(MCPResult.tools.response(to: .number(1), in: .june2025))
    guard case .array(let tools)? = list.members["result"]?.members["tools"] else {
      Issue.record("there is no list of tools")
      return
    }
    #expect(
      tools.map { $0.members["name"] }
        == ["direct_login", "list_health_types", "get_health_metrics", "get_summary", "logout"].map
      { .string($0) })
  }

  @Test(arguments: RPCError.Code.allCases)
  func `an error is a response with its code`(code: RPCError.Code) throws {
    let numbers = [
      RPCError.Code.parse: -32700, .invalidRequest: -32600, .methodNotFound: -32601,
      .invalidParams: -32602, .internalError: -32603, .resourceNotFound: -32002,
      .headerMismatch: -32020,
      .unsupportedVersion: -32022, .elicitationRequired: -32042, .cancelled: -32800,
    ]
    let number = try #require(numbers[code])
    #expect(
      RPCError(code, "no").response(to: nil).text
        == #"{"jsonrpc":"2.0","id":null,"error":{"code":\#(number),"message":"no"}}"#)
  }
}
