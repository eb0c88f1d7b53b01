import HoldfastCore
import HoldfastTestKit
import Testing

@testable import HoldfastAssistants

@Suite struct RPCMessageTests {
  private func read(_ text: String) throws(RPCMessage.Fault) -> RPCMessage {
    try RPCMessage.read([UInt8](text: text))
  }

  private static func params(_ text: String) -> RPCParams {
    RPCParams(bytes: [UInt8](text: text))
  }

  @Test func `requests, notifications and responses are distinguished`() throws {
    #expect(
      try read(#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#)
        == .request(.number(7), method: "tools/list", params: RPCParams()))
    #expect(
      try read(#" {"params":{"a":[1]},"id":"x","method":"m","jsonrpc":"2.0","more":null} "#)
        == .request(.string("x"), method: "m", params: Self.params(#"{"a":[1]}"#)))
    #expect(
      try read(#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        == .notification(method: "notifications/initialized", params: RPCParams()))
    #expect(try read(#"{"jsonrpc":"2.0","id":1,"result":{}}"#) == .response)
    #expect(try read(#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#) == .response)
  }

  @Test(arguments: [
    ("", RPCError.Code.parse), ("{", .parse), ("{} {}", .parse), ("\u{FEFF}{}", .parse),
    ("[]", .invalidRequest), ("7", .invalidRequest), ("{}", .invalidRequest),
    (#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, .invalidRequest),
    (#"{"jsonrpc":"2.0","id":1}"#, .invalidRequest),
    (#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, .invalidRequest),
    (#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, .invalidRequest),
    (#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, .invalidRequest),
    (#"{"jsonrpc":"2.0","id":1,"method":""}"#, .invalidRequest),
    (#"{"jsonrpc":"2.0","id":1,"method":5}"#, .invalidRequest),
    (#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#, .invalidRequest),
    (#"{"jsonrpc":"2.0","id":1,"method":"m","params":7}"#, .invalidRequest),
  ])
  func `text that is not a message is refused with an error code`(text: String, code: RPCError.Code)
  {
    let fault = #expect(throws: RPCMessage.Fault.self) { try read(text) }
    #expect(fault?.error.code == code)
  }

  @Test func `null parameters count as left out, and whole numbers are read in any notation`()
    throws
  {
    // According to JSON-RPC 2.0 section 4, params may be omitted. According to RFC 8259 section 6,
    // 5e3 is 5000.
    #expect(
      try read(#"{"jsonrpc":"2.0","id":5e3,"method":"m","params":null}"#)
        == .request(.number(5_000), method: "m", params: RPCParams()))
    #expect(
      try read(#"{"jsonrpc":"2.0","method":"m","params":null}"#)
        == .notification(method: "m", params: RPCParams()))
  }

  @Test func `an error carries the id if one was found`() {
    let fault = #expect(throws: RPCMessage.Fault.self) {
      try read(#"{"jsonrpc":"2.0","id":"q","method":"m","params":[]}"#)
    }
    #expect(fault?.id == .string("q"))
    #expect(
      fault.map { $0.error.response(to: $0.id).text }
        == #"{"jsonrpc":"2.0","id":"q","error":{"code":-32600,"#
        + #""message":"Invalid request: params must be an object"}}"#)
  }

  @Test(arguments: [(255, true), (256, true), (257, false)])
  func `the length of an id is limited`(count: Int, isTaken: Bool) {
    let id = String(repeating: "i", count: count)
    let text = #"{"jsonrpc":"2.0","id":"\#(id)","method":"m"}"#
    #expect(((try? read(text)) != nil) == isTaken)
  }

  @Test(arguments: [(127, true), (128, true), (129, false)])
  func `the length of a method is limited`(count: Int, isTaken: Bool) {
    let name = String(repeating: "m", count: count)
    let text = #"{"jsonrpc":"2.0","id":1,"method":"\#(name)"}"#
    #expect(((try? read(text)) != nil) == isTaken)
  }

  @Test func `an unknown version is refused with the supported ones`() {
    let error = RPCError(.unsupportedVersion, "no", requestedVersion: "2030-01-01")
    #expect(
      error.response(to: nil).text
        == #"{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no","data":{"#
        + #""supported":["2026-07-28"],"requested":"2030-01-01"}}}"#)
  }

  @Test func `parameters are found in any order, and others are skipped`() {
    let params = MCPParams(
      Self.params(
        #"{"x":[{}],"name":"n","protocolVersion":"v","requestId":3,"arguments":{"word":"w","#
          + #""code":"c"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#
          + #""io.modelcontextprotocol/clientCapabilities":{},"progressToken":"t"}}"#))
    #expect(params.name == "n")
    #expect(params.protocolVersion == "v")
    #expect(params.requestID == .number(3))
    #expect((try? params.arguments?.pair()).map { "\($0.word) \($0.code)" } == "w c")
    #expect(
      params.meta
        == MCPParams.Meta(
          protocolVersion: "2026-07-28", hasCapabilities: true, progressToken: .string("t")))
  }

  @Test func `arguments that are not an object are distinguished from missing ones`() {
    #expect(MCPParams(Self.params("{}")).arguments == MCPArguments())
    #expect(MCPParams(Self.params(#"{"arguments":null}"#)).arguments == MCPArguments())
    #expect(MCPParams(Self.params(#"{"arguments":[]}"#)).arguments == nil)
  }

  @Test func `white space before parameters is not part of them`() throws {
    #expect(
      try read(#"{"jsonrpc":"2.0","method":"m","params": {"a":1} }"#)
        == .notification(method: "m", params: Self.params(#"{"a":1}"#)))
  }

  @Test(arguments: ["7", "null", "[]", #""x""#])
  func `a _meta that is not an object is skipped`(meta: String) {
    let params = MCPParams(Self.params(#"{"_meta":\#(meta),"name":"n"}"#))
    #expect(params.name == "n")
    #expect(params.meta == nil)
  }

  @Test func `bytes after a batch are a parse error`() throws {
    let batch = try RPCMessage.batch([UInt8](text: "[{}, {}] "), atMost: 2)
    #expect(batch.map(\.text) == ["{}", "{}"])
    let fault = #expect(throws: RPCMessage.Fault.self) {
      try RPCMessage.batch([UInt8](text: "[{}, {}] x"), atMost: 2)
    }
    #expect(fault?.error.code == .parse)
  }
}
