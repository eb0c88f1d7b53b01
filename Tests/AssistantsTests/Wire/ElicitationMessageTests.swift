import HoldfastJSON
import Testing

@testable import HoldfastAssistants

/// Tests of requests to the user to open a page.
@Suite struct ElicitationMessageTests {
  private let elicitation = MCPElicitation(
    id: "a1", url: "https://b.example/p?id=a1", message: "Go")

  private func params(_ text: String) -> MCPParams { MCPParams(RPCParams(bytes: Array(text.utf8))) }

  @Test func `the error of version 2025-11-25 lists the page`() {
    var error = RPCError(.elicitationRequired, "Go")
    error.elicitation = elicitation
    let json = String(decoding: error.response(to: .number(7)), as: UTF8.self)
    #expect(
      json == #"{"jsonrpc":"2.0","id":7,"error":{"code":-32042,"message":"Go","data":"#
        + #"{"elicitations":[{"mode":"url","elicitationId":"a1","#
        + #""url":"https://b.example/p?id=a1","message":"Go"}]}}}"#)
  }

  @Test func `the result of version 2026-07-28 has the request and its state`() {
    let result = MCPResult.inputRequired(elicitation, state: "s")
    let json = String(decoding: result.response(to: .number(7), in: .july2026), as: UTF8.self)
    #expect(
      json.hasPrefix(
        #"{"jsonrpc":"2.0","id":7,"result":{"inputRequests":{"sign_in":{"#
          + #""method":"elicitation/create","params":{"mode":"url","#
          + #""url":"https://b.example/p?id=a1","message":"Go"}}},"requestState":"s","#
          + #""resultType":"input_required","#))
  }

  @Test(arguments: [
    (#"{"elicitation":{"url":{}}}"#, true), (#"{"elicitation":{"form":{},"url":{"x":1}}}"#, true),
    (#"{"elicitation":{}}"#, false), (#"{"elicitation":{"url":null}}"#, false),
    (#"{"elicitation":{"url":true}}"#, false), (#"{"url":{}}"#, false),
    (#"{"other":{"url":{}}}"#, false), ("{}", false), ("[]", false), ("null", false),
  ])
  func `a client declares that it can open a page`(abilities: String, can: Bool) {
    #expect(params(#"{"capabilities":\#(abilities)}"#).elicitsURL == can)
    let meta = #"{"_meta":{"io.modelcontextprotocol/clientCapabilities":\#(abilities)}}"#
    #expect(params(meta).meta?.elicitsURL == can)
    #expect(params(meta).meta?.hasCapabilities == abilities.hasPrefix("{"))
  }

  @Test(arguments: [
    (#"{"sign_in":{"action":"accept"}}"#, false), (#"{"sign_in":{"action":"decline"}}"#, true),
    (#"{"a":{"action":"accept"},"b":{"x":1,"action":"cancel"}}"#, true), (#"{"a":1}"#, false),
    (#"{"a":{"action":7}}"#, false), ("[]", false), ("null", false), ("{}", false),
  ])
  func `a refusal of the user is read`(responses: String, isRefusal: Bool) {
    let read = params(#"{"inputResponses":\#(responses),"requestState":"s"}"#)
    #expect(read.refusesInput == isRefusal)
    #expect(read.requestState == "s")
    #expect(params(#"{"requestState":7}"#).requestState == nil)
  }
}
