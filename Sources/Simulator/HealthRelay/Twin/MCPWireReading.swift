import LinkJSON
import LinkWire

/// How a server reads what assistants post, told a second time (JSON-RPC 2.0, MCP 2025-11-25).
struct MCPWireReading {
  private var members: [SessionBranch] = []
  private(set) var id: RPCID?

  /// A message with its parameters.
  enum Message {
    case request(RPCID, String, [SessionBranch])
    case notification(String, [SessionBranch])
    case response
  }

  /// What is wrong with a text that is no JSON; `nil` if it is JSON.
  static func grammar(_ bytes: [UInt8]) -> JSONError? {
    var reader = JSONReader(bytes)
    do throws(JSONError) {
      try reader.skipValue()
      try reader.finish()
      return nil
    } catch {
      return error
    }
  }

  static func parse(_ error: JSONError) -> RPCError {
    RPCError(.parse, "Parse error: \(error.detail) at byte \(error.offset)")
  }

  private static func invalid(_ detail: String) -> RPCError {
    RPCError(.invalidRequest, "Invalid request: \(detail)")
  }

  private func last(_ name: String) -> SessionTree? { members.last { $0.name == name }?.value }

  private func has(_ name: String) -> Bool { members.contains { $0.name == name } }

  mutating func message(_ bytes: [UInt8]) throws(RPCError) -> Message {
    if let error = Self.grammar(bytes) { throw Self.parse(error) }
    switch SessionTree(bytes) {
    case .object(let all): members = all
    case .list: throw Self.invalid("a batch; send one message at a time")
    case .text, .number, .flag, .null, nil: throw Self.invalid("no JSON-RPC message")
    }
    id = last("id").flatMap(Self.id)
    guard last("jsonrpc") == .text("2.0") else { throw Self.invalid("jsonrpc must be \"2.0\"") }
    let isResponse = has("result") || has("error")
    if has("id"), id == nil, !isResponse {
      throw Self.invalid("id must be a string or a whole number")
    }
    guard let member = last("method") else {
      if isResponse { return .response }
      throw Self.invalid("method is missing")
    }
    guard case .text(let method) = member, 1...128 ~= method.utf8.count else {
      throw Self.invalid("method is no name")
    }
    guard case .object(let params) = last("params") ?? .object([]) else {
      throw Self.invalid("params must be an object")
    }
    return id.map { .request($0, method, params) } ?? .notification(method, params)
  }

  /// An id; `nil` for what cannot be one.
  static func id(_ tree: SessionTree) -> RPCID? {
    switch tree {
    case .text(let text): text.utf8.count < 257 ? .string(text) : nil
    case .number(let digits): Int64(digits).map { .number($0) }
    case .object, .list, .flag, .null: nil
    }
  }

  static func tree(_ id: RPCID) -> SessionTree {
    switch id {
    case .string(let text): .text(text)
    case .number(let number): .number("\(number)")
    }
  }

  static func batch(_ bytes: [UInt8], atMost most: Int) throws(RPCError) -> [[UInt8]] {
    var bodies: [[UInt8]] = []
    do throws(JSONError) {
      bodies = try RelayWireFields.elements(bytes)
    } catch {
      throw parse(error)
    }
    if bodies.isEmpty || bodies.count > most {
      throw invalid("a batch has 1 to \(most) messages")
    }
    return bodies
  }

  // Parameters.

  /// The last text of a name; `nil` if what stands last is none.
  static func text(_ name: String, in members: [SessionBranch]) -> String? {
    guard case .text(let text)? = members.last(where: { $0.name == name })?.value else {
      return nil
    }
    return text
  }

  static func id(_ name: String, in members: [SessionBranch]) -> RPCID? {
    members.last { $0.name == name }.flatMap { id($0.value) }
  }

  /// `nil` when they are no object.
  static func arguments(_ members: [SessionBranch]) -> MCPWireArguments? {
    switch members.last(where: { $0.name == "arguments" })?.value {
    case nil, .null?: MCPWireArguments()
    case .object(let all): MCPWireArguments(all)
    case .list, .text, .number, .flag: nil
    }
  }

  static func client(_ name: String, in members: [SessionBranch]) -> AssistantName? {
    guard case .object(let all)? = members.last(where: { $0.name == name })?.value else {
      return nil
    }
    return AssistantName(text("name", in: all), version: text("version", in: all))
  }

  // The original's call.

  /// The name and the arguments of a plain call; none of both for `initialize`.
  static func plain(
    _ bytes: [UInt8]
  ) throws(MCPWireFault) -> (name: String, arguments: MCPWireArguments)? {
    let first = bytes.first { ![9, 10, 13, 32].contains($0) }
    let begins = Array("\"{[tfn-0123456789".utf8)
    if let first, first != 0x7B, begins.contains(first) {
      throw MCPWireFault("The body is no JSON object: no object")
    }
    if let error = grammar(bytes) {
      throw MCPWireFault("The body is no JSON object: \(error.detail)")
    }
    guard case .object(let outer)? = SessionTree(bytes) else { return nil }
    let all = flat(outer)
    let method = text("method", in: all)
    if method == "initialize" { return nil }
    guard [nil, "call_tool", "tools/call"].contains(method) else {
      throw MCPWireFault("method must be initialize or call_tool")
    }
    guard let name = text("name", in: all) else { throw MCPWireFault("name is missing") }
    guard let arguments = arguments(all) else {
      throw MCPWireFault("arguments must be an object")
    }
    return (name, arguments)
  }

  /// The members with those of `params` in its place.
  private static func flat(_ members: [SessionBranch]) -> [SessionBranch] {
    members.flatMap { member -> [SessionBranch] in
      guard member.name == "params", case .object(let inner) = member.value else { return [member] }
      return flat(inner)
    }
  }
}
