import CHoldfastCurl
import HoldfastCore
import HoldfastPorts
import HoldfastSocketEngine

/// A REST client with its own multi handle. It reuses connections for later requests.
final class RestClient {
  private let configuration: CurlConfiguration
  private let share: Share
  let transfers: Transfers
  private var exchanges: [UInt64: Exchange] = [:]

  init?(configuration: CurlConfiguration, share: Share, poller: Poller) {
    guard let transfers = Transfers(poller) else { return nil }
    self.configuration = configuration
    self.share = share
    self.transfers = transfers
  }

  deinit {
    for exchange in exchanges.values { transfers.remove(exchange.easy) }
  }

  var isIdle: Bool { exchanges.isEmpty }
  var deadline: Instant? { transfers.deadline }

  func start(_ id: UInt64, _ request: HTTPCall, _ continuation: Exchange.Continuation) {
    do throws(LinkFailure) {
      let exchange = try Exchange(request, configuration, share: share, continuation)
      guard transfers.add(exchange.easy, as: id) else {
        throw .local(detail: "libcurl did not accept the request.")
      }
      exchanges[id] = exchange
    } catch {
      let secrets = Secrets(headers: request.headers, query: request.query)
      continuation.resume(returning: .failure(secrets.clean(error)))
    }
  }

  func cancel(_ id: UInt64) {
    end(id) { _ in .failure(.local(detail: "The request was cancelled.")) }
  }

  func tick(at now: Instant) {
    guard let deadline = transfers.deadline, deadline <= now else { return }
    transfers.tick()
    collect()
  }

  /// Completes the requests whose transfers have ended.
  func collect() {
    while let (id, result) = transfers.nextDone() { end(id) { $0.answer(result) } }
  }

  private func end(_ id: UInt64, _ answer: (Exchange) -> Result<HTTPAnswer, LinkFailure>) {
    guard let exchange = exchanges.removeValue(forKey: id) else { return }
    let answer = answer(exchange)
    transfers.remove(exchange.easy)
    exchange.continuation.resume(returning: answer)
  }
}
