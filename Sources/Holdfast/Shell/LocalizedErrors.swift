public import Foundation
public import HoldfastMessageData
public import HoldfastSyncData

// The texts that `localizedDescription` returns for the errors of this module and of those below.

extension MessageError: LocalizedError {
  /// The description of the error.
  public var errorDescription: String? { description }
}

extension HealthSourceFailure: LocalizedError {
  /// The description of the failure.
  public var errorDescription: String? { description }
}

extension HealthImport.Failure: LocalizedError {
  /// The description of the failure.
  public var errorDescription: String? { description }
}
