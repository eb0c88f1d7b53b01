import Foundation
public import Holdfast
public import HoldfastFeaturePorts

extension HoldfastLinks {
  /// Returns the target of the uploads that the system makes, for the queue in `parts.uploads`.
  ///
  ///     links.parts.uploads = try? BackgroundUploads(
  ///       identifier: "com.example.uploads", links.uploadTarget())
  ///
  /// The uploads have the server, the tokens and the files of `healthSync()`.
  ///
  /// - Throws: `.network` if no network can be created. On Apple's platforms, nothing is thrown.
  public func uploadTarget() throws(OpenError) -> UploadTarget {
    let (tokens, folder) = (tokens, folder(.sync))
    var target = UploadTarget(
      server: server.absoluteString, directory: syncDirectory,
      http: try ports.openNetwork(allowsPlaintext: false),
      deviceID: { Self.syncDeviceID(in: folder) },
      secret: { () throws(LinkFailure) in try await tokens.secret() })
    target.clock = ports.clock
    return target
  }
}
