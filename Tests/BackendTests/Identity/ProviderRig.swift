import Foundation
import HoldfastBackend
import HoldfastCore
import HoldfastIdentity
import HoldfastPorts
import HoldfastTestKit
import Synchronization

/// The kept key sets and tokens of two providers, which are valid until the year 2200.
enum KeptProvider {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Kept")

  static func path(_ name: String) -> String { folder.appending(path: name).path }

  static func bytes(_ name: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: folder.appending(path: name)))
  }

  /// Returns the lines of a file.
  static func tokens(_ name: String) throws -> [String] {
    String(decoding: try bytes(name), as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// The rules for tokens in the form of Keycloak, whose shops are roles.
  static let keycloak = IdentityProvider(
    issuer: "https://id.example/realms/main", audience: "holdfast",
    names: ClaimNames(
      "name=preferred_username,shops=realm_access.roles[shop-],"
        + "admin=resource_access.app.web.roles[admin-]") ?? ClaimNames())

  /// The rules for tokens in the form of Auth0, with a claim whose name is a URL.
  static let auth0 = IdentityProvider(
    issuer: "https://tenant.eu.auth0.com/", audience: "https://holdfast.example",
    names: ClaimNames("user=sub[auth0|],shops=https://holdfast.example/shops") ?? ClaimNames())
}

/// A server of keys that tests control. Each call waits until a test answers it.
final class ScriptedKeys: HTTPClient {
  private typealias Waiting = CheckedContinuation<Result<HTTPAnswer, LinkFailure>, Never>

  private struct State {
    var waiting: [Waiting] = []
    var answers: [Result<HTTPAnswer, LinkFailure>] = []
    var calls: [HTTPCall] = []
  }

  private let state = Mutex(State())

  /// The calls so far.
  var calls: [HTTPCall] { state.withLock { $0.calls } }

  /// Answers the call that has waited longest, or the next one.
  func answer(_ result: Result<HTTPAnswer, LinkFailure>) {
    let waiting = state.withLock { state -> Waiting? in
      guard !state.waiting.isEmpty else {
        state.answers.append(result)
        return nil
      }
      return state.waiting.removeFirst()
    }
    waiting?.resume(returning: result)
  }

  /// Answers with a document.
  func answer(_ document: [UInt8], status: Int = 200) {
    answer(.success(HTTPAnswer(status: status, headers: [:], body: document)))
  }

  func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
    let result = await withCheckedContinuation { (waiting: Waiting) in
      let ready = state.withLock { state -> Result<HTTPAnswer, LinkFailure>? in
        state.calls.append(request)
        guard state.answers.isEmpty else { return state.answers.removeFirst() }
        state.waiting.append(waiting)
        return nil
      }
      if let ready { waiting.resume(returning: ready) }
    }
    return try result.get()
  }

  func forgetConnections() async {}
}
