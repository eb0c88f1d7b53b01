import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastJSON
import HoldfastPorts

/// The command `holdfast probe`: asks a backend whether it is healthy, for the health checks of
/// containers.
package enum ProbeCommand {
  private static let url = Parameter.option(
    "url", .text("URL"), default: "http://127.0.0.1:8787/healthz",
    "the URL to ask; with TLS, use the name in the certificate")
  /// `/healthz` waits up to 5 s for stores that hang.
  private static let timeout = Parameter.option(
    "timeout", .duration(.milliseconds(100) ... .seconds(300)), default: .seconds(10),
    "how long to wait for the answer")
  /// The maximum size of the answer. A page of `/healthz` has some hundred bytes.
  private static let maxBytes = 65_536

  package static var command: Command {
    Command(
      "probe", "ask a backend whether it is healthy",
      details: [
        """
        Prints the answer. The exit status is 0 if the status of the answer is 200, 1 if it is \
        another one, and 6 if there is no answer.
        """
      ],
      examples: [
        .init("holdfast probe", "a backend on this machine, at the default port"),
        .init("holdfast probe --url https://shop.example/healthz", "another one"),
      ],
      takes: url, timeout, Connection.authorities, Connection.plaintext, Connection.proxy,
      Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let address = try ServerAddress(
      call[url], option: "--url", allowsPlaintext: call[Connection.plaintext])
    let network = try Connection.network(call, to: address)
    let answer: HTTPAnswer
    do throws(LinkFailure) {
      answer = try await network.send(
        HTTPCall(
          method: "GET", url: address.url, timeout: call[timeout], maxBodyBytes: maxBytes))
    } catch {
      throw CommandFailure(error)
    }
    let text = String(decoding: answer.body, as: UTF8.self).printable
    call.put(text) {
      $0.entry("status", answer.status)
      $0.entry("body", text)
    }
    guard answer.status == 200 else {
      throw CommandFailure(
        .failed, "\(address.url) answered with status \(answer.status)",
        remedy: "its answer has the reason")
    }
  }
}
