import HoldfastKeyedHashing
import HoldfastProtocols

/// The requests that the lab's server answers, and the checks that each must pass.
///
/// Another page of the browser can send requests to this machine too. It can neither send the secret,
/// which is in the page's address, nor read an answer.
struct LabAccess: Sendable {
  let secret: String
  let port: UInt16
  /// The names of the links.
  let links: [String]

  /// The address of the page.
  var address: String { "http://127.0.0.1:\(port)/?lab=\(secret)" }

  private var hosts: [String] { ["127.0.0.1:\(port)", "localhost:\(port)"] }

  /// The field of a request that repeats the secret.
  static let field = "x-lab"
  /// The maximum length of a text that the person writes, in bytes.
  static let longestText = 4_000

  /// Returns the meaning of a request.
  func read(_ head: HTTPRequestHead, body: [UInt8]) -> LabRequest {
    let field = { (name: String) in head.headers.first { $0.name == name }?.value }
    guard let host = field("host"), hosts.contains(host.lowercased()) else {
      return .refused(421, "This is not the server of this host.")
    }
    if let origin = field("origin"), !hosts.contains(where: { origin == "http://\($0)" }) {
      return .refused(403, "Other pages may not call.")
    }
    let path = head.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
      .map(String.init)
    switch (head.method, path.first ?? "", path.count) {
    case ("GET", "", 1): return .page
    case ("GET", "lab", 2) where path[1] == "events":
      let given = head.query.first { $0.name == "lab" }?.value
      guard isSecret(given) else { return .refused(403, Self.withoutSecret) }
      return .events(after: field("last-event-id").flatMap { Int($0) } ?? 0)
    case ("POST", "lab", 3...4) where path[1] == "do":
      guard isSecret(field(Self.field)) else { return .refused(403, Self.withoutSecret) }
      return act(Array(path[2...]), field("x-lab-link"), body)
    case (_, _, _): return .refused(404, "There is nothing here.")
    }
  }

  private static let withoutSecret = "Open the address that `holdfast lab` printed."

  private func isSecret(_ given: String?) -> Bool {
    KeyedHash.areEqual(Array((given ?? "").utf8), Array(secret.utf8))
  }

  private func act(_ path: [String], _ link: String?, _ body: [UInt8]) -> LabRequest {
    if path == ["say"] {
      let text = String(validating: body, as: UTF8.self).map { $0.filter { !$0.isNewline } }
      guard let text, text.contains(where: { !$0.isWhitespace }),
        text.utf8.count <= Self.longestText
      else {
        return .refused(400, "A text has 1 to \(Self.longestText) bytes of UTF-8, not only spaces.")
      }
      guard let link = link ?? links.first, links.contains(link) else {
        return .refused(
          404, "There is no such link. X-Lab-Link is one of \(links.joined(separator: ", ")).")
      }
      return .act(.say(text, by: link))
    }
    guard let deed = LabDeed(rawValue: path[0]) else {
      return .refused(404, "There is no such button.")
    }
    switch path.dropFirst().first {
    case nil where !deed.lasts: return .act(.deed(deed, isOn: true))
    case "on" where deed.lasts: return .act(.deed(deed, isOn: true))
    case "off" where deed.lasts: return .act(.deed(deed, isOn: false))
    case _:
      let form = deed.lasts ? "\(deed.rawValue)/on or /off" : deed.rawValue
      return .refused(404, "The button is pressed with POST /lab/do/\(form).")
    }
  }
}

/// The meaning of a request to the lab's server.
enum LabRequest: Sendable, Hashable {
  case page
  /// The events with a number above this one, and all later ones.
  case events(after: Int)
  case act(LabAct)
  /// A status and a sentence.
  case refused(Int, String)
}
