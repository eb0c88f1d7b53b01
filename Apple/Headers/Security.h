// What the package uses of Security: the keychain, and the statuses of TLS.
#pragma once
@import ObjectiveC;
#pragma clang assume_nonnull begin
#pragma clang arc_cf_code_audited begin

enum : OSStatus {
  errSecSuccess = 0,
  errSecDiskFull = -34,
  errSecParam = -50,
  errSecAllocate = -108,
  errSecNotAvailable = -25291,
  errSecAuthFailed = -25293,
  errSecDuplicateItem = -25299,
  errSecItemNotFound = -25300,
  errSecInteractionNotAllowed = -25308,
  errSecDecode = -26275,
  errSecMissingEntitlement = -34018,
};
enum : OSStatus {
  errSSLProtocol = -9800,
  errSSLNegotiation = -9801,
  errSSLFatalAlert = -9802,
  errSSLClosedGraceful = -9805,
  errSSLClosedAbort = -9806,
  errSSLXCertChainInvalid = -9807,
  errSSLBadCert = -9808,
  errSSLCrypto = -9809,
  errSSLInternal = -9810,
  errSSLUnknownRootCert = -9812,
  errSSLNoRootCert = -9813,
  errSSLCertExpired = -9814,
  errSSLCertNotYetValid = -9815,
  errSSLClosedNoNotify = -9816,
  errSSLPeerUnexpectedMsg = -9819,
  errSSLPeerBadCert = -9825,
  errSSLPeerUnsupportedCert = -9826,
  errSSLPeerCertRevoked = -9827,
  errSSLPeerCertExpired = -9828,
  errSSLPeerCertUnknown = -9829,
  errSSLIllegalParam = -9830,
  errSSLPeerUnknownCA = -9831,
  errSSLPeerAccessDenied = -9832,
  errSSLPeerHandshakeFail = -9824,
  errSSLPeerProtocolVersion = -9836,
  errSSLPeerInsufficientSecurity = -9837,
  errSSLPeerInternalError = -9838,
  errSSLConnectionRefused = -9844,
  errSSLBadConfiguration = -9848,
  errSSLHostNameMismatch = -9843,
};

extern const CFStringRef kSecClass;
extern const CFStringRef kSecClassGenericPassword;
extern const CFStringRef kSecAttrService;
extern const CFStringRef kSecAttrAccount;
extern const CFStringRef kSecAttrAccessGroup;
extern const CFStringRef kSecAttrAccessible;
extern const CFStringRef kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly;
extern const CFStringRef kSecAttrAccessibleWhenUnlockedThisDeviceOnly;
extern const CFStringRef kSecAttrSynchronizable;
extern const CFStringRef kSecMatchLimit;
extern const CFStringRef kSecMatchLimitOne;
extern const CFStringRef kSecMatchLimitAll;
extern const CFStringRef kSecReturnData;
extern const CFStringRef kSecReturnAttributes;
extern const CFStringRef kSecValueData;
extern const CFStringRef kSecUseDataProtectionKeychain IOS(13.0) WATCHOS(6.0);

OSStatus SecItemCopyMatching(CFDictionaryRef query, CFTypeRef _Nullable *_Nullable RETURNS_RETAINED result);
OSStatus SecItemAdd(CFDictionaryRef attributes, CFTypeRef _Nullable *_Nullable RETURNS_RETAINED result);
OSStatus SecItemUpdate(CFDictionaryRef query, CFDictionaryRef attributesToUpdate);
OSStatus SecItemDelete(CFDictionaryRef query);

#pragma clang arc_cf_code_audited end
#pragma clang assume_nonnull end
