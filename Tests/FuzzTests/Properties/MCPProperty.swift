import HoldfastHealth
import HoldfastJSON

@testable import HoldfastAssistants

/// The properties of requests that assistants post, and of the answers that phones send to them.
enum MCPProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    try message(bytes)
    try call(bytes)
    try answer(bytes)
    try MCPServerProperty.check(bytes)
  }

  private static func message(_ bytes: [UInt8]) throws(Broken) {
    let message: RPCMessage
    do {
      message = try RPCMessage.read(bytes)
    } catch {
      try hold([.parse, .invalidRequest].contains(error.error.code), "a fault has its code")
      return try isWritten(error.error.response(to: error.id))
    }
    switch message {
    case .request(let id, let method, let params):
      try hold(method.utf8.count <= RPCMessage.maxMethodBytes, "no method is beyond the limit")
      try isWritten(MCPResult.tools.response(to: id, in: .july2026))
      try arguments(MCPParams(params).arguments)
    case .notification(_, let params): try arguments(MCPParams(params).arguments)
    case .response: break
    }
  }

  private static func call(_ bytes: [UInt8]) throws(Broken) {
    guard case .tool(_, let arguments) = try? PlainToolCall.read(bytes) else { return }
    try self.arguments(arguments)
  }

  private static func arguments(_ arguments: MCPArguments?) throws(Broken) {
    guard let arguments else { return }
    if let pair = try? arguments.pair() {
      let length = max(pair.word.utf8.count, pair.code.utf8.count)
      try hold(length <= MCPArguments.maxBytes, "no argument is beyond the limit")
    }
    if let query = try? arguments.summaryQuery() {
      try hold(query.metrics.count <= MCPArguments.maxMetrics, "no summary is beyond the limit")
    }
    _ = try? arguments.healthDataQuery()
  }

  private static func answer(_ bytes: [UInt8]) throws(Broken) {
    for kind in HealthQuestion.Kind.allCases {
      let result = MCPCallResult(HealthObject(succeeded: true, bytes: bytes), of: kind)
      let response = MCPResult.called(result).response(to: .number(1), in: .november2025)
      try isWritten(response)
      let event = MCPEvents.message(response)
      try hold(
        event.count { $0 == 0x0A } == 3, "an event is two lines and an empty one")
    }
  }

  private static func isWritten(_ bytes: [UInt8]) throws(Broken) {
    var reader = JSONReader(bytes)
    let isJSON: Bool
    do {
      try reader.skipValue()
      try reader.finish()
      isJSON = true
    } catch {
      isJSON = false
    }
    try hold(isJSON, "what is written is JSON")
  }
}
