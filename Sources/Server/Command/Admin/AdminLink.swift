import HoldfastBackend
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastJSON
import HoldfastPorts

/// The options of `holdfast admin` with which a server is found, and the requests to it.
enum AdminLink {
  static let address = Parameter.optional(
    "admin", .text("unix:PATH|URL"), usual: "unix:admin.sock in the data directory",
    "the address that `serve` was given with --admin-listen, such as http://127.0.0.1:8789")
  static let tokenFile = Parameter.optional(
    "admin-token-file", .text("FILE"),
    "the file with the token that `serve` was given with --admin-token-file")
  static let plaintext = Parameter.flag(
    "allow-plaintext", "let the token leave this machine without encryption")

  /// An answer that is no error.
  struct Answer {
    var body: [UInt8]

    /// Returns the elements of a list, and the name after which the next page begins.
    func list(_ name: String) throws(CommandFailure) -> (elements: [[UInt8]], next: String?) {
      let fields = JSONFields(body, keeping: [name, "next"])
      do throws(FieldFault) {
        try fields.check()
        return (try fields.elements(name, atMost: 1_000), try fields.optionalString("next"))
      } catch {
        throw CommandFailure(.failed, "the answer is not that of a backend: \(error)")
      }
    }
  }

  /// Sends a request. An answer with an error becomes a failure with the server's own words.
  static func ask(
    _ call: Invocation, _ method: String, _ path: [String],
    query: [(name: String, value: String)] = [], body: [UInt8] = []
  ) async throws(CommandFailure) -> Answer {
    let answer: HTTPAnswer
    let place = try place(call)
    do throws(LinkFailure) {
      let client = try AdminClient(
        place, token: try token(call), allowsPlaintext: call[plaintext])
      answer = try await client.ask(method, path, query: query, body: body)
    } catch {
      throw failure(error, at: place)
    }
    guard (200...299).contains(answer.status) else { throw refusal(answer) }
    return Answer(body: answer.body)
  }

  /// Reads a list in pages, up to a number of elements.
  static func list(
    _ call: Invocation, _ path: [String], _ name: String, atMost limit: Int,
    query: [(name: String, value: String)] = []
  ) async throws(CommandFailure) -> [[UInt8]] {
    var (all, next): ([[UInt8]], String?) = ([], nil)
    repeat {
      var items = query + [(name: "limit", value: String(min(1_000, limit - all.count)))]
      if let next { items.append((name: "after", value: next)) }
      let page = try await ask(call, "GET", path, query: items).list(name)
      all += page.elements
      next = page.next
    } while next != nil && all.count < limit
    return all
  }

  private static func place(_ call: Invocation) throws(CommandFailure) -> String {
    if let address = call[address] { return address }
    return "unix:\(try call.dataDirectory())/admin.sock"
  }

  private static func token(_ call: Invocation) throws(LinkFailure) -> AdminToken? {
    guard let path = call[tokenFile] else { return nil }
    do throws(BackendError) {
      return try AdminToken.find(at: path)
    } catch {
      throw .local(detail: error.description)
    }
  }

  private static func failure(_ failure: LinkFailure, at place: String) -> CommandFailure {
    var command = CommandFailure(failure)
    if command.code == .unreachable {
      command.remedy =
        "no backend listens at \(place): start it with --admin-listen, or name its address with "
        + "--admin"
    }
    return command
  }

  private static func refusal(_ answer: HTTPAnswer) -> CommandFailure {
    let fields = JSONFields(answer.body, keeping: ["message"])
    let said = (try? fields.optionalString("message")).flatMap { $0 }
    let cause = said ?? "the server answered with status \(answer.status)"
    switch answer.status {
    case 401: return CommandFailure(.signInNeeded, cause)
    case 403: return CommandFailure(.forbidden, cause)
    case _: return CommandFailure(.failed, cause)
    }
  }
}

/// The members of a JSON object as the cells of a table.
struct AdminRow {
  private let fields: JSONFields
  let bytes: [UInt8]

  init(_ bytes: [UInt8], _ names: [String]) {
    self.bytes = bytes
    fields = JSONFields(bytes, keeping: names)
  }

  /// Returns a text; empty if there is none.
  func text(_ name: String) -> String { (try? fields.optionalString(name)).flatMap { $0 } ?? "" }

  /// Returns a time in the local time zone.
  func time(_ name: String) -> String {
    let text = text(name)
    return RFC3339.parse(text)?.local ?? text
  }

  func number(_ name: String) -> String {
    (try? fields.optionalInt(name, in: 0...Int.max)).flatMap { $0 }.map { String($0) } ?? ""
  }

  func flag(_ name: String) -> Bool { (try? fields.optionalBool(name)).flatMap { $0 } ?? false }

  /// Prints the object as it is, on one line.
  func print(on console: Console) {
    var writer = JSONWriter(capacity: bytes.count)
    writer.raw(bytes)
    console.line(String(decoding: writer.terminalBytes, as: UTF8.self))
  }
}
