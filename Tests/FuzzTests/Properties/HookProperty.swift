import HoldfastCore

@testable import HoldfastMessageServer
@testable import HoldfastServerParts

/// The properties of what strangers send for hooks and the log: responses of the operator's backend,
/// URLs and the `traceparent` field.
enum HookProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let kind = choices.byte()
    switch kind % 3 {
    case 0: try reply(&choices)
    case 1: try trace(String(decoding: choices.rest, as: UTF8.self))
    case _: try address(choices.rest)
    }
  }

  private static func reply(_ choices: inout Choices) throws(Broken) {
    let statuses = [200, 204, 403, 404, 500, 302]
    let status = statuses[Int(choices.byte()) % statuses.count]
    let body = Array(choices.rest)
    switch HookReply(.answered(status: status, body: body)) {
    case .allowed: try hold(status < 300, "only a success allows")
    case .denied(let reason):
      try hold(status == 200 || status == 204 || status == 403, "only a decision denies")
      try hold(
        !reason.isEmpty && reason.unicodeScalars.count <= HookReply.maxReason,
        "a refusal has a short reason")
    case .failed(let detail): try hold(!detail.isEmpty, "a failure has a cause")
    }
  }

  private static func trace(_ text: String) throws(Broken) {
    guard let trace = TraceParent(text) else { return }
    try hold(
      text.hasPrefix("00-\(trace.traceID)-") && trace.traceID.utf8.count == 32,
      "the trace is that of the field")
    try hold(trace.traceID.contains { $0 != "0" }, "a trace has an ID")
  }

  private static func address(_ bytes: some Collection<UInt8>) throws(Broken) {
    for count in [4, 16] {
      guard let address = NetworkAddress(bytes: Array(bytes.prefix(count))) else { continue }
      try hold(NetworkAddress(address.text) == address, "an address survives its text")
      try hold(
        AddressBlock(address.networkText)?.contains(address) == true,
        "an address is in its network")
    }
  }
}
