public import Foundation
public import HoldfastCore
public import HoldfastPorts

/// The server that background uploads are sent to, and what is sent.
public struct UploadTarget: Sendable {
  /// The address of the server, with or without the path of the endpoint.
  public var server: String
  /// The directory that the paths of the uploaded files are relative to.
  ///
  /// The system reads the files while the device is locked, so their protection must allow this
  /// (`completeUntilFirstUserAuthentication`).
  public var directory: URL
  /// A closure that returns the identifier of this phone; `nil` if it has none.
  ///
  /// It is called for each request that contains the identifier, because a sign-out replaces it.
  public var deviceID: @Sendable () -> String?
  /// The client of the requests that are not uploads.
  public var http: any HTTPClient
  /// A closure that reads the token of the requests.
  ///
  /// It is called for the first request after `events`, and again after each refusal. At most one
  /// call is waited for at a time.
  public var secret: @Sendable () async throws(LinkFailure) -> String
  /// The time limit of a call of `secret`. A later answer is ignored.
  public var secretLimit = Duration.seconds(15)
  /// The clock that measures the limit.
  public var clock: any LinkClock = BootClock()

  /// Creates a target.
  public init(
    server: String, directory: URL, http: any HTTPClient,
    deviceID: @escaping @Sendable () -> String? = { nil },
    secret: @escaping @Sendable () async throws(LinkFailure) -> String
  ) {
    (self.server, self.directory, self.http) = (server, directory, http)
    (self.deviceID, self.secret) = (deviceID, secret)
  }
}
