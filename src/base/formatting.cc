// SPDX-License-Identifier: BSD-3-Clause
// The part of fmt that is not inline, compiled once for us: Debian ships it as a shared library only, and a preload
// must not bring a library into a program that may have another version of it. FMT_HEADER_ONLY would compile it anew in
// each file, which costs most of the time of a build: configure chooses that only for a version that needs other parts.

#ifndef FMT_HEADER_ONLY

#include <locale>

#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template FMT_API locale_ref::locale_ref(const std::locale& loc);
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
template FMT_API auto dragonbox::to_decimal(float value) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double value) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<wchar_t>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API auto decimal_point_impl(locale_ref) -> wchar_t;
#if FMT_VERSION >= 100000
template FMT_API void vformat_to(buffer<char>&, string_view, typename vformat_args<>::type, locale_ref);
#endif

} // namespace detail
FMT_END_NAMESPACE

#endif
