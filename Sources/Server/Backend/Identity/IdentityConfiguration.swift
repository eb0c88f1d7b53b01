import HoldfastCurlNetwork
public import HoldfastIdentity
import HoldfastPorts

/// The identity provider whose tokens a backend accepts beside those that it signs itself.
public struct IdentityConfiguration: Sendable {
  /// The place of the provider's public keys.
  public enum Keys: Sendable, Hashable {
    /// An `https` URL, or an `http` URL of this machine, from which the keys are fetched.
    case url(String)
    /// The path of a file, which is read at the start and on request.
    case file(String)
  }

  /// The place of the public keys.
  public var keys: Keys
  /// The rules for the provider's tokens.
  public var provider: IdentityProvider
  /// The client that fetches the keys; `nil` for the usual one.
  var client: (any HTTPClient)?

  /// Creates the configuration of a provider. Nothing is read before the backend starts.
  public init(keys: Keys, provider: IdentityProvider) {
    (self.keys, self.provider) = (keys, provider)
  }
}

/// A source of the public keys of an identity provider.
enum KeySource: Sendable {
  case url(String, any HTTPClient)
  case file(String)

  /// - Throws: `.file` if the client cannot be created.
  init(_ configuration: IdentityConfiguration) throws(BackendError) {
    switch configuration.keys {
    case .file(let path): self = .file(path)
    case .url(let url):
      if let client = configuration.client {
        self = .url(url, client)
        return
      }
      do throws(LinkFailure) {
        self = .url(url, try CurlNetwork(CurlConfiguration()))
      } catch {
        throw .file(path: "the network", detail: "\(error)")
      }
    }
  }

  /// Reads the keys of a file; `nil` if they are fetched from a URL.
  ///
  /// - Throws: `.file` if the file cannot be read or has no usable key.
  func read() throws(BackendError) -> [IssuerKey]? {
    guard case .file(let path) = self else { return nil }
    let content = try PrivateFile(path: path).readExisting()
    do throws(KeySetFault) {
      return try IssuerKey.readSet(content)
    } catch {
      throw .file(path: path, detail: error.description)
    }
  }

  /// Fetches the keys; a failure for those of a file.
  func fetch() async -> KeySetFetch {
    guard case .url(let url, let client) = self else { return .failed(reason: "no URL") }
    let call = HTTPCall(
      method: "GET", url: url, headers: [("Accept", "application/json")],
      timeout: IssuerKeys.fetchLimit, maxBodyBytes: IssuerKey.maxSetBytes)
    do throws(LinkFailure) {
      let answer = try await client.send(call)
      return .answered(
        status: answer.status, cacheControl: answer.headers["cache-control"],
        age: answer.headers["age"], body: answer.body)
    } catch {
      return .failed(reason: "\(error)")
    }
  }
}
