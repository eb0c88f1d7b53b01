import HoldfastCore
import HoldfastCurlNetwork
public import HoldfastMessageServer
import HoldfastPorts

/// The requests to the operator's own backend, which decides about sockets and posts.
public struct HookConfiguration: Sendable, Hashable {
  /// The URL for all requests: `https`, or `http` of this machine; `nil` for no requests.
  public var url: String?
  /// The path of the file with the key that signs the requests; `nil` for no signatures.
  public var secretFile: String?
  /// The path of a PEM file with certificate authorities that are trusted in addition to the
  /// system's.
  public var authorities: String?
  /// The events, the time limit and the bounds.
  public var policy = HookPolicy()

  /// The minimum length of the key in bytes, which is the length of the hash (RFC 2104 section 3).
  public static let leastSecretBytes = 32

  /// Creates a configuration without requests.
  public init() {}

  /// Reads the key, and returns the caller of the operator's backend; `nil` if there is no URL.
  ///
  /// - Parameter client: The client to use instead of one over the network.
  func open(_ client: (any HTTPClient)?) throws(BackendError) -> HookCaller? {
    guard let url else { return nil }
    let key = try secretFile.map { path throws(BackendError) in try Self.key(at: path) }
    let client = if let client { client } else { try network() }
    return HookCaller(url: url, key: key, client: client, policy: policy)
  }

  private func network() throws(BackendError) -> any HTTPClient {
    do throws(LinkFailure) {
      return try CurlNetwork(CurlConfiguration(authorities: authorities))
    } catch {
      throw .file(path: authorities ?? "the network", detail: "\(error)")
    }
  }

  private static func key(at path: String) throws(BackendError) -> [UInt8] {
    var key = try PrivateFile(secret: path).readExisting(isSecret: true)
    // Editors end a file with a line ending, which is not part of the key.
    while [0x0A, 0x0D].contains(key.last) { key.removeLast() }
    guard key.count >= leastSecretBytes else {
      throw .file(path: path, detail: "the secret has less than \(leastSecretBytes) bytes")
    }
    return key
  }
}
