import HoldfastBackend
import HoldfastServerParts
import HoldfastServerSockets

/// The properties of addresses for operators, and of the figures of the process.
enum OperatorProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let kind = choices.byte() % 2
    let text = String(decoding: choices.rest, as: UTF8.self)
    switch kind {
    case 0: try address(text)
    case _: try figures(text)
    }
  }

  private static func address(_ text: String) throws(Broken) {
    let address = try? AdminAddress(text, tokenFile: "token")
    try hold(
      (address != nil) == BackendConfiguration.isOperatorAddress(text),
      "metrics and administration have the same addresses")
    switch address?.listener {
    case .unix(let path)?:
      try hold(text == "unix:" + path, "a path is taken as it is")
      try hold(!path.isEmpty && !path.utf8.contains(0), "a path can be opened")
    case .tcp(let endpoint)?:
      let again = try? AdminAddress(endpoint.description, tokenFile: "token")
      try hold(again == address, "an address that was read can be written")
      try hold((try? AdminAddress(text)) == nil, "everybody can connect to an address of TCP")
    case .inherited?, nil:
      try hold(address == nil, "no text names a socket that was passed")
    }
  }

  private static func figures(_ text: String) throws(Broken) {
    guard let stat = ProcessStat(text) else { return }
    // Fields 3 to 24 of proc(5).
    var fields = [String](repeating: "0", count: 22)
    (fields[14 - 3], fields[22 - 3]) = ("\(stat.processorTicks)", "\(stat.startTicks)")
    fields[24 - 3] = "\(stat.residentPages)"
    let again = ProcessStat("1 (a) b) " + fields.joined(separator: " "))
    try hold(again == stat, "figures that were read can be written")
  }
}
