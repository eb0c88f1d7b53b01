import HoldfastPorts
import HoldfastSocket
import HoldfastCore

extension OpenError {
  /// Runs `work`, and converts its error with `convert`, such as a case of this type.
  static func wrapping<Value, Failure: Error>(
    _ convert: (Failure) -> OpenError, _ work: () async throws(Failure) -> Value
  ) async throws(OpenError) -> Value {
    do throws(Failure) {
      return try await work()
    } catch {
      throw convert(error)
    }
  }
}

extension DevicePorts {
  /// Returns the network for a backend, as `openNetwork(allowsPlaintext:)` does.
  ///
  /// - Throws: `.network` if there is none.
  func backendNetwork(
    allowsPlaintext: Bool
  ) throws(OpenError) -> any SocketDialer & HTTPClient {
    do throws(LinkFailure) {
      return try openNetwork(allowsPlaintext: allowsPlaintext)
    } catch {
      throw .network(error)
    }
  }
}
